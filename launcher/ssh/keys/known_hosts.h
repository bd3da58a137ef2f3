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

/// One line that speaks of a host.
struct KnownKey {
  enum class Marker : uint8_t { none, cert_authority, revoked };
  Marker marker = Marker::none;
  bool by_wildcard = false;  ///< its names have a * or ?
  HostKey key;
  std::string file;
  size_t line = 0;
  /// "/home/me/.ssh/known_hosts:12"
  std::string place() const;
  bool operator==(const KnownKey&) const = default;
};

/// What the files say of a host's key.
struct HostKeyVerdict {
  enum class Kind : uint8_t { known, unknown, changed, revoked };
  Kind kind = Kind::unknown;
  std::optional<KnownKey> by = {};  ///< the line that decided; none for unknown
  bool operator==(const HostKeyVerdict&) const = default;
};

/// All that the files say of one host.
struct KnownHost {
  std::string name;            ///< as it is looked up: "node1", "[node1]:2222", the alias
  std::vector<KnownKey> keys;  ///< in the order of the files
  /// Of "node1" where name is "[node1]:2222": one of these is good as well.
  std::vector<KnownKey> keys_without_port;

  /// OpenSSH's: a key that is listed is known; where only others are, of whatever type, it has
  /// changed.
  HostKeyVerdict verdict(const HostKey& key) const;
  /// The same where another program has seen the key, and told its name.
  HostKeyVerdict verdict(const HostKeyName& key) const;
  /// The types of keys that are known, in OpenSSH's order of preference: to be asked for before all
  /// others, since any other key would be a changed one.
  std::vector<std::string> key_types() const;
  /// Why OpenSSH should be the carrier: "PLACE: @cert-authority" (a line that only it can honour),
  /// @revoked or a wildcard; empty when libssh2 may be.
  std::string needs_openssh() const;
};

/// A known_hosts file that was read.
struct KnownHostsFile {
  std::string path;
  std::string text;
};

/// Whose key is looked up.
struct HostKeyOwner {
  std::string host;  ///< as dialled: SshSettings::host_name
  int port = 22;
  std::string alias = {};  ///< SshSettings::host_key_alias
};

/// The lines of known_hosts files, taken apart once for all hosts. A line that makes no sense is
/// skipped and spoils no other, as with OpenSSH.
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

/// The files of the settings, the user's first; what cannot be read is skipped, as OpenSSH does.
std::vector<KnownHostsFile> read_known_hosts(const SshSettings& settings, const SshWorld& world);

enum class HostKeyDecision : uint8_t {
  accept,
  accept_and_record,  ///< append known_hosts_line to the first of user_known_hosts_files
  refuse
};
HostKeyDecision decide_host_key(HostKeyVerdict::Kind verdict, const SshSettings& settings);

/// Why a key is refused, for people: key type, fingerprint, place, and what repairs it; three
/// lines, the first of which follows the name of the host.
std::string refused_host_key_message(const HostKeyVerdict& verdict, const KnownHost& host,
                                     const HostKeyName& key, const SshRequest& request);

/// The line, with its newline, that makes the key known under `name` (KnownHost::name). With a salt
/// the name is hashed, as HashKnownHosts asks; make a new one for each line.
std::string known_hosts_line(std::string_view name, const HostKey& key,
                             const std::optional<Sha1Digest>& salt);
/// Appends a line to a known_hosts file, which is made if need be (0600, its folder 0700).
Result<> append_known_hosts(const std::string& path, std::string_view line);

}  // namespace dt
