#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// How to treat a host key that no known_hosts file lists. OpenSSH's `ask` is `yes` here: dtrain
/// asks no questions. `no` accepts even a changed key.
enum class HostKeyChecking : uint8_t { yes, accept_new, no };

enum class AddressFamily : uint8_t { any, inet, inet6 };

/// A directive that has an effect, and its place.
struct SshDirective {
  std::string name;   ///< as ssh_config(5) spells it, in lower case
  std::string place;  ///< "/home/me/.ssh/config:12", or "ssh -G"
  std::string text() const { return place + ": " + name; }
  bool operator==(const SshDirective&) const = default;
};

/// The settings by which OpenSSH would reach one host. Paths are absolute; ~, %h and ${HOME} are
/// resolved.
struct SshSettings {
  std::string host_name;  ///< the name to dial: in lower case, or a canonical address
  int port = 22;
  std::string user;
  std::vector<std::string> identity_files;  ///< in the order of trial; not all need exist
  bool identities_given = false;            ///< false: identity_files is OpenSSH's default list
  bool identities_only = false;             ///< of ssh-agent's keys, use only identity_files
  std::vector<std::string> certificate_files;
  std::optional<std::string>
      identity_agent;         ///< a socket, "SSH_AUTH_SOCK" or "none"; none: "SSH_AUTH_SOCK"
  std::string proxy_jump;     ///< empty: none
  std::string proxy_command;  ///< as written, with its % tokens; empty: none
  std::vector<std::string> user_known_hosts_files;
  std::vector<std::string> global_known_hosts_files;
  HostKeyChecking host_key_checking = HostKeyChecking::yes;
  std::string host_key_alias;  ///< lower case; empty: none
  bool hash_known_hosts = false;
  std::optional<int> connect_timeout_s;
  std::string bind_address;  ///< empty: any
  AddressFamily address_family = AddressFamily::any;
  bool gssapi = false;  ///< GSSAPIAuthentication; Debian's own file sets it for every host

  /// Directives that only `ssh -G` resolves (Match, Canonicalize…, keywords newer than this
  /// reader). If there are any, the other members are a guess: run ssh_g_command, and parse its
  /// output with parse_ssh_g.
  std::vector<SshDirective> needs_ssh_g;
  /// Directives that only the OpenSSH client implements (ProxyJump, CertificateFile, Ciphers, …):
  /// the host needs it. gssapi is not among them.
  std::vector<SshDirective> needs_openssh;
  /// Names of directives that would change the session of the OpenSSH client (RemoteCommand, …).
  std::set<std::string, std::less<>> session_changes;

  bool operator==(const SshSettings&) const = default;
};

/// The input of the reader. It has the host as the user named it, and the local user. The values of
/// dtrain's command line win.
struct SshRequest {
  std::string host;
  std::optional<std::string> user = {};
  std::optional<int> port = {};
  std::vector<std::string> identity_files = {};
  /// Like ssh -F: read this file instead of the user's and the system's; "none" reads no file.
  std::optional<std::string> config_file = {};
  std::string local_user;
  std::string home;  ///< the home of local_user, absolute
  uint32_t local_uid = 0;
  std::string local_host = {};  ///< gethostname(2)
};

/// The system's files, variables and users as the reader sees them. Tests replace them.
struct SshWorld {
  /// Returns a file's text. Fails with Errc::not_found when the file does not exist, and, if
  /// `guarded`, with Errc::refused when another user may write it.
  std::function<Result<std::string>(const std::string& path, bool guarded)> read;
  /// Returns the paths that match, sorted; `pattern` is absolute.
  std::function<std::vector<std::string>(const std::string& pattern)> glob;
  std::function<std::optional<std::string>(const std::string& name)> environment;
  /// Returns another user's home, for ~user/.
  std::function<std::optional<std::string>(const std::string& user)> home_of;
};

/// Returns this machine's. It reads each file once, whatever the number of hosts.
SshWorld this_machine_for_ssh();

/// Reads the configuration as ssh(1) does. Fails where ssh would fail: "/home/me/.ssh/config:3: …".
Result<SshSettings> read_ssh_config(const SshRequest& request, const SshWorld& world);

/// Parses the output of `ssh -G`. `read` is the reader's own result; two parts of it are still
/// needed. First, -G prints ciphers and the like even when no file sets them. Second, -G does not
/// mark where a path ends: paths that differ from the reader's need the ssh program.
Result<SshSettings> parse_ssh_g(std::string_view output, const SshRequest& request,
                                const SshWorld& world, const SshSettings& read);
/// Returns the command whose output parse_ssh_g parses.
std::vector<std::string> ssh_g_command(const SshRequest& request);

}  // namespace dt
