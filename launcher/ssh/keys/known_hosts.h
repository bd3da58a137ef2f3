#pragma once

#include "base/crypto.h"
#include "base/result.h"
#include "launcher/ssh/config/ssh_config.h"
#include "launcher/ssh/keys/host_key.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The key of one known_hosts line.
struct KnownKey {
  enum class Marker : uint8_t { none, cert_authority, revoked };
  Marker marker = Marker::none;
  bool by_wildcard = false;  ///< the line's names have a * or ?
  HostKey key;
  std::string file;
  size_t line = 0;
  /// Returns "/home/me/.ssh/known_hosts:12".
  std::string place() const;
  bool operator==(const KnownKey&) const = default;
};

/// The result of checking a host's key against the files.
struct HostKeyVerdict {
  enum class Kind : uint8_t { known, unknown, changed, revoked };
  Kind kind = Kind::unknown;
  std::optional<KnownKey> by = {};  ///< the line that decided; none for unknown
  bool operator==(const HostKeyVerdict&) const = default;
};

/// All lines of the files for one host.
struct KnownHost {
  std::string name;            ///< the name in the files: "node1", "[node1]:2222", or the alias
  std::vector<KnownKey> keys;  ///< in the order of the files
  /// The keys of "node1" if `name` is "[node1]:2222": they are accepted, too.
  std::vector<KnownKey> keys_without_port;

  /// Judges as OpenSSH does: a listed key is known. If only other keys are listed, of whatever
  /// type, the key has changed.
  HostKeyVerdict verdict(const HostKey& key) const;
  /// The same for a key whose name another program has printed.
  HostKeyVerdict verdict(const HostKeyName& key) const;
  /// Returns the types of known keys, in OpenSSH's order of preference. The client must request
  /// these first: a key of another type would count as changed.
  std::vector<std::string> key_types() const;
  /// Returns the reason why the host needs the OpenSSH client: "PLACE: @cert-authority", @revoked
  /// or a wildcard. Empty when libssh2 will do.
  std::string needs_openssh() const;
};

/// A known_hosts file with its text.
struct KnownHostsFile {
  std::string path;
  std::string text;
};

/// The host whose key is looked up.
struct HostKeyOwner {
  std::string host;  ///< SshSettings::host_name
  int port = 22;
  std::string alias = {};  ///< SshSettings::host_key_alias
};

/// The lines of known_hosts files, parsed once for all hosts. A malformed line is skipped, as in
/// OpenSSH.
class KnownHosts {
 public:
  explicit KnownHosts(std::vector<KnownHostsFile> files);
  // The lines are views of the files' texts.
  KnownHosts(const KnownHosts&) = delete;
  KnownHosts& operator=(const KnownHosts&) = delete;
  KnownHosts(KnownHosts&&) = default;
  KnownHosts& operator=(KnownHosts&&) = default;
  ~KnownHosts() = default;

  KnownHost find(const HostKeyOwner& owner) const;

 private:
  struct HashedName {
    Sha1Digest salt;
    Sha1Digest hash;
  };
  struct Line {
    KnownKey::Marker marker = KnownKey::Marker::none;
    std::string_view hosts;  ///< patterns, or "|1|…"
    std::optional<HashedName> hashed;
    std::string_view key;
    size_t file = 0;
    size_t number = 0;
  };
  static std::optional<Line> parse_line(std::string_view text);
  static std::optional<HashedName> parse_hashed(std::string_view hosts);
  static bool matches(const Line& line, std::string_view name, HmacSha1& hmac);
  std::vector<KnownKey> keys_of(std::string_view name) const;

  std::vector<KnownHostsFile> files_;
  std::vector<Line> lines_;
};

/// Reads the files of the settings, the user's first. Skips unreadable files, as OpenSSH does.
std::vector<KnownHostsFile> read_known_hosts(const SshSettings& settings, const SshWorld& world);

enum class HostKeyDecision : uint8_t {
  accept,
  accept_and_record,  ///< append known_hosts_line to the first of user_known_hosts_files
  refuse
};
HostKeyDecision decide_host_key(HostKeyVerdict::Kind verdict, const SshSettings& settings);

/// Returns the message for a refused key: key type, fingerprint, place, and the remedy. It has
/// three lines; the first one follows the name of the host.
std::string refused_host_key_message(const HostKeyVerdict& verdict, const KnownHost& host,
                                     const HostKeyName& key, const SshRequest& request);

/// Returns the line, with its newline, that makes the key known under `name` (KnownHost::name).
/// With a salt the name is hashed, as HashKnownHosts requires. Each line needs a new salt.
std::string known_hosts_line(std::string_view name, const HostKey& key,
                             const std::optional<Sha1Digest>& salt);
/// Appends a line to a known_hosts file. Creates the file (0600) and its folder (0700) if needed.
Result<> append_known_hosts(const std::string& path, std::string_view line);

}  // namespace dt
