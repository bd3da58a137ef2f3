#pragma once

#include "base/clock.h"
#include "launcher/ssh/config/ssh_config.h"
#include "launcher/ssh/keys/host_key.h"
#include "launcher/ssh/keys/known_hosts.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct ClientOptions {
  Duration connect_timeout = seconds(10);
  /// Puts curve25519 in front of the client's own list of key exchanges. It costs 9 ms of CPU a
  /// host; the first choice of newer clients costs 58 ms.
  bool curve25519_first = false;
  /// SshSettings::session_changes, which the command line undoes. Only these are named there: an
  /// older client does not know all of them.
  std::set<std::string, std::less<>> session_changes = {};
};
/// Returns the command line that runs `command` on the host. The client asks no questions
/// (BatchMode), forwards no ssh-agent, X11 or port, and makes no terminal. It logs its steps (-v):
/// only this log shows the host's key and the user's keys that were tried.
std::vector<std::string> ssh_command(const SshRequest& request, const ClientOptions& options,
                                     const std::string& command);
/// The same for a program like rsh, which takes a host and a command. Some such programs pass the
/// command to a shell, others execute it: /bin/sh, which reads its input, suits both.
std::vector<std::string> rsh_command(const std::vector<std::string>& program,
                                     const SshRequest& request);

/// Returns the arguments with which ssh-copy-id gives this login its key: "-i KEY -p 2222
/// me@node1".
std::string copy_id_arguments(const SshRequest& request);

/// The useful parts of the OpenSSH client's stderr.
struct ClientOutput {
  std::vector<std::string_view> lines;  ///< for people
  HostKeyName host_key;                 ///< the key that the host has shown; empty before that
  std::vector<std::string> tried;       ///< "ed25519 from /home/me/.ssh/id_ed25519"
};
ClientOutput parse_client_output(std::string_view messages);

/// The host's facts that the client's stderr does not contain.
struct ClientContext {
  SshRequest request;
  KnownHost known = {};
  std::vector<std::string> key_problems = {};  ///< SshIdentity::problem of its key files
};
/// Why a client ended before the agent sent anything, by the client's stderr.
struct ClientFailure {
  std::string text;           ///< for people: the failure and its remedy
  bool again = false;         ///< another try may succeed: refused, reset, closed before the login
  bool refused = false;       ///< no process listens at the port
  bool unknown_name = false;  ///< the resolver knows no such name
  bool too_old = false;       ///< it does not know curve25519_first
  bool operator==(const ClientFailure&) const = default;
};
ClientFailure client_failure(const ClientContext& context, std::string_view messages,
                             std::string_view how_it_ended);

}  // namespace dt
