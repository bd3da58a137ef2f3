#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/sync/git_source.h"
#include "launcher/config/sync/sync_options.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// Returns the token, without the newline at its end. Fails with Errc::input, and shows nothing of
/// it, if it is missing, empty, or has several lines. A file must be this user's and readable by it
/// alone, or root's; others may not write to it.
Result<std::string> read_git_token(const GitToken& token, const Environment& environment);

/// Returns the variables without that of the token, which is only for git. Removes it from this
/// process, too: programs that start with its variables, such as ssh, do not get the token either.
Environment without_token(const GitToken& token, Environment environment);

/// The variables by which git asks this program for a user and a password, and only for this
/// server. `program` runs with the question as its argument, and prints git_answer(). Git gets no
/// helper of the user's settings then: it would store the token.
Environment asking_environment(const Environment& environment, const GitToken& token,
                               const GitServer& server);

/// Returns the answer to a question of git, such as "Password for 'https://me@host': ". None if
/// asking_environment() has not made these variables. Fails with Errc::refused for another server.
std::optional<Result<std::string>> git_answer(std::string_view question,
                                              const Environment& environment);

}  // namespace dt
