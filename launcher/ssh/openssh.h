#pragma once

#include "base/clock.h"
#include "launcher/ssh/config/ssh_config.h"
#include "launcher/ssh/keys/host_key.h"
#include "launcher/ssh/keys/known_hosts.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct ClientOptions {
  Duration connect_timeout = seconds(10);
  /// Puts curve25519 in front of what the client would offer: it costs 9 ms of CPU a host, what
  /// newer clients begin with costs 58.
  bool curve25519_first = false;
};
/// The words that run `command` on the host. Nothing is ever asked (BatchMode), neither agent nor
/// X11 is forwarded, no terminal is made, and the client tells what it does (-v): which key the
/// host has shown and which of ours were tried can be had in no other way.
std::vector<std::string> ssh_words(const SshRequest& request, const ClientOptions& options,
                                   const std::string& command);
/// The same for a program like rsh, which is given a host and what to run there. Some join the
/// words for a shell, some execute them: a shell that reads from its input suits both.
std::vector<std::string> rsh_words(const std::vector<std::string>& program,
                                   const SshRequest& request);

/// What the OpenSSH client has written on its stderr, as far as it tells something.
struct ClientWords {
  std::vector<std::string_view> lines;  ///< for people
  HostKeyName host_key;                 ///< that the host has shown; empty before that
  std::vector<std::string> tried;       ///< "ed25519 from /home/me/.ssh/id_ed25519"
};
ClientWords client_words(std::string_view messages);

/// What we know of a host beside what the client says.
struct ClientContext {
  SshRequest request;
  KnownHost known = {};
  std::vector<std::string> key_problems = {};  ///< SshIdentity::problem of its key files
};
/// Why a client ended before an agent spoke, from what it wrote to stderr.
struct ClientFailure {
  std::string text;      ///< for people: what, and what to do next
  bool again = false;    ///< another try may go better: refused, reset, closed before the login
  bool too_old = false;  ///< it does not know curve25519_first
  bool operator==(const ClientFailure&) const = default;
};
ClientFailure client_failure(const ClientContext& context, std::string_view messages,
                             std::string_view how_it_ended);

}  // namespace dt
