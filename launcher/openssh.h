#pragma once

#include "base/result.h"
#include "launcher/carrier.h"
#include "launcher/hosts.h"
#include "launcher/login_options.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The words that run `command` on the host. Nothing is ever asked (BatchMode), neither agent nor
/// X11 is forwarded, and no terminal is made.
std::vector<std::string> ssh_words(const Host& host, const LoginOptions& options,
                                   const std::string& command);

/// Runs the client as a child; its messages come on Carrier::messages.
Result<Carrier> start_over_ssh(const Host& host, const LoginOptions& options,
                               const std::string& command);

/// Why a client of OpenSSH ended before an agent spoke, from what it wrote to stderr.
struct ClientFailure {
  std::string text;    ///< for people: what, and what to do next
  bool again = false;  ///< another try may go better: refused, reset, closed before the login
  bool operator==(const ClientFailure&) const = default;
};
ClientFailure client_failure(const Host& host, std::string_view messages, std::string_view how_it_ended);

}  // namespace dt
