#pragma once

#include "base/clock.h"
#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/sync/git_source.h"
#include "launcher/sync/source/git_token.h"

#include <string>
#include <vector>

namespace dt {

/// By what git reaches the server.
struct GitAccess {
  Environment environment;  ///< of the user
  GitToken token = {};
  /// The program that prints git_answer(). Only needed with a token.
  std::string answering_program = {};
  Duration patience = seconds(3600);  ///< for each run of git
  bool joins_group = false;           ///< git is in the process group of this process
};

/// A commit of a repository elsewhere, as files here.
struct Checkout {
  std::string commit;  ///< the full hash
  std::string ref;     ///< the branch, tag or hash; of the default branch its name
  std::vector<std::string> warnings = {};
};

/// Fetches one commit, without its history where the server can, and puts its files into this
/// folder, with those of its submodules and of Git LFS. Requires an empty folder of this user
/// alone. Blocks. git asks nobody and follows no redirection. Fails with Errc::input, and git's own
/// words, for a server that cannot be reached, a password that is missing or wrong, and a REF that
/// is not there.
Result<Checkout> check_out(const GitSource& source, const std::string& folder,
                           const GitAccess& access);

}  // namespace dt
