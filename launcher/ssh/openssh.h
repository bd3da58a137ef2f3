#pragma once

#include "base/clock.h"
#include "launcher/ssh/ssh_config.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct ClientOptions {
  Duration connect_timeout = seconds(10);
  /// Puts curve25519 in front of what the client would offer: it costs 9 ms of CPU a host, what
  /// newer clients begin with costs 58.
  bool curve25519_first = false;
  bool tells_key = false;  ///< it says which key it logs in with: see client_chatter.h
};
/// The words that run `command` on the host. Nothing is ever asked (BatchMode), neither agent nor
/// X11 is forwarded, and no terminal is made.
std::vector<std::string> ssh_words(const SshRequest& request, const ClientOptions& options,
                                   const std::string& command);
/// The same for a program like rsh, which is given a host and what to run there. Some join the
/// words for a shell, some execute them: a shell that reads from its input suits both.
std::vector<std::string> rsh_words(const std::vector<std::string>& program,
                                   const SshRequest& request);

/// Why a client of OpenSSH ended before an agent spoke, from what it wrote to stderr.
struct ClientFailure {
  std::string text;      ///< for people: what, and what to do next
  bool again = false;    ///< another try may go better: refused, reset, closed before the login
  bool too_old = false;  ///< it does not know curve25519_first
  bool operator==(const ClientFailure&) const = default;
};
ClientFailure client_failure(const SshRequest& request, std::string_view messages,
                             std::string_view how_it_ended);

}  // namespace dt
