#pragma once

#include "base/clock.h"
#include "launcher/ssh/ssh_config.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The words that run `command` on the host. Nothing is ever asked (BatchMode), neither agent nor
/// X11 is forwarded, and no terminal is made.
std::vector<std::string> ssh_words(const SshRequest& request, Duration connect_timeout,
                                   const std::string& command);

/// Why a client of OpenSSH ended before an agent spoke, from what it wrote to stderr.
struct ClientFailure {
  std::string text;    ///< for people: what, and what to do next
  bool again = false;  ///< another try may go better: refused, reset, closed before the login
  bool operator==(const ClientFailure&) const = default;
};
ClientFailure client_failure(const SshRequest& request, std::string_view messages,
                             std::string_view how_it_ended);

}  // namespace dt
