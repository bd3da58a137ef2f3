#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// What to do with a host key that no known_hosts file decides on. OpenSSH's `ask` is `yes` here:
/// nobody can be asked. `no` takes even a changed key.
enum class HostKeyChecking : uint8_t { yes, accept_new, no };

enum class AddressFamily : uint8_t { any, inet, inet6 };

/// A directive that decided something, and where it stands.
struct SshDirective {
  std::string name;   ///< as ssh_config(5) spells it, in lower case
  std::string place;  ///< "/home/me/.ssh/config:12"; of `ssh -G` just that
  std::string text() const { return place + ": " + name; }
  bool operator==(const SshDirective&) const = default;
};

/// How one host is reached: what OpenSSH would do for it. Paths are absolute, ~, %h and ${HOME} are
/// resolved.
struct SshSettings {
  std::string host_name;  ///< to dial: lower case, an address in its canonical form
  int port = 22;
  std::string user;
  std::vector<std::string> identity_files;  ///< in the order of trial; not all need exist
  bool identities_given = false;  ///< false: identity_files is OpenSSH's own list, nobody asked
  bool identities_only = false;   ///< from the agent, only identity_files
  std::vector<std::string> certificate_files;
  std::optional<std::string>
      identity_agent;         ///< a socket, "SSH_AUTH_SOCK" or "none"; none: the former
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
  bool gssapi = false;  ///< GSSAPIAuthentication: Debian's own file asks for it for every host

  /// What only `ssh -G` can tell (Match, Canonicalize…, words newer than this reader). If not
  /// empty, the rest is a guess: ask, and give the answer to parse_ssh_g.
  std::vector<SshDirective> beyond;
  /// What is understood, and what only the OpenSSH client can do (ProxyJump, CertificateFile,
  /// Ciphers, …): it must be the carrier. gssapi is not among them.
  std::vector<SshDirective> needs_openssh;

  bool operator==(const SshSettings&) const = default;
};

/// What is asked: the host as the user named it, what dtrain's command line says (it wins), and who
/// asks.
struct SshRequest {
  std::string host;
  std::optional<std::string> user = {};
  std::optional<int> port = {};
  std::vector<std::string> identity_files = {};
  /// As ssh -F: read instead of the user's and the system's file; "none" reads none.
  std::optional<std::string> config_file = {};
  std::string local_user;
  std::string home;  ///< of local_user, absolute
  uint32_t local_uid = 0;
  std::string local_host = {};  ///< gethostname(2)
};

/// The world as the reader sees it, so that tests need no files.
struct SshWorld {
  /// A file's text; Errc::not_found where there is none. `guarded`: refuse a file that somebody
  /// else may write.
  std::function<Result<std::string>(const std::string& path, bool guarded)> read;
  /// The paths that match, sorted; `pattern` is absolute.
  std::function<std::vector<std::string>(const std::string& pattern)> glob;
  std::function<std::optional<std::string>(const std::string& name)> environment;
  /// Another user's home, for ~user/.
  std::function<std::optional<std::string>(const std::string& user)> home_of;
};

/// This machine; each file is read once in its life, whatever the number of hosts.
SshWorld this_machine_for_ssh();

/// Reads the configuration as ssh(1) does. An error is one that ssh would fail with:
/// "/home/me/.ssh/config:3: …".
Result<SshSettings> read_ssh_config(const SshRequest& request, const SshWorld& world);

/// What `ssh -G` printed. `read` is what the reader made of the files: -G shows ciphers and their
/// like without saying whether anybody asked for them, so that part is kept. It also does not show
/// where one path ends and the next begins: what is not as the reader has it needs the ssh program.
Result<SshSettings> parse_ssh_g(std::string_view output, const SshRequest& request,
                                const SshWorld& world, const SshSettings& read);
/// The command whose output parse_ssh_g reads.
std::vector<std::string> ssh_g_command(const SshRequest& request);

}  // namespace dt
