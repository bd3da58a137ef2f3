#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "launcher/config.h"
#include "launcher/ssh_config.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A server's public key as it stands on the wire (RFC 4253 6.6).
struct HostKey {
  std::string type;  ///< "ssh-ed25519"
  Bytes blob;
  bool operator==(const HostKey&) const = default;
};

/// The key of a blob: its type is the blob's first string. None when the blob is no key that
/// OpenSSH knows.
std::optional<HostKey> host_key_of(ByteSpan blob);
/// "SHA256:AAAA…" as OpenSSH prints it.
std::string fingerprint(const HostKey& key);

/// One line that speaks of a host.
struct KnownKey {
  enum class Marker : uint8_t { none, cert_authority, revoked };
  Marker marker = Marker::none;
  HostKey key;
  std::string place;  ///< "/home/me/.ssh/known_hosts:12"
  bool operator==(const KnownKey&) const = default;
};

/// What the files say of a host's key.
struct HostKeyVerdict {
  enum class Kind : uint8_t { known, unknown, changed, revoked };
  Kind kind = Kind::unknown;
  std::string place = {};  ///< of the line that decided; empty for unknown
  bool operator==(const HostKeyVerdict&) const = default;
};

/// All that the files say of one host.
struct KnownHost {
  std::string name;            ///< as it is looked up: "node1", "[node1]:2222", the alias
  std::vector<KnownKey> keys;  ///< the user's files first
  std::vector<KnownKey> keys_of_plain_name;  ///< of "node1" where name is "[node1]:2222"
  /// Why libssh2 may not be the carrier: "PLACE: @cert-authority"; empty: it may.
  std::string needs_openssh;

  HostKeyVerdict verdict(const HostKey& key) const;
  /// Types of keys that are known, to be asked for first: with another one the verdict would be
  /// "changed". In the order of the lines, each once.
  std::vector<std::string> key_types() const;
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

/// The lines of all known_hosts files, parsed once for all hosts. A line that makes no sense is
/// skipped and spoils no other, as with OpenSSH.
class KnownHosts {
 public:
  /// The user's files first; they are taken apart here and not kept.
  explicit KnownHosts(const std::vector<KnownHostsFile>& files);
  KnownHost find(const HostKeyOwner& owner) const;

 private:
  struct Line {
    KnownKey::Marker marker = KnownKey::Marker::none;
    std::string hosts;  ///< patterns in lower case, or empty for a hashed name
    std::array<std::byte, 20> salt = {};
    std::array<std::byte, 20> hash = {};
    HostKey key;
    size_t file = 0;
    size_t number = 0;
  };
  bool matches(const Line& line, std::string_view name) const;
  std::vector<KnownKey> keys_of(std::string_view name) const;

  std::vector<std::string> paths_;
  std::vector<Line> lines_;
};

/// The files of the settings that are there; others are skipped, as OpenSSH does.
std::vector<KnownHostsFile> read_known_hosts(const SshSettings& settings, const TextReader& read);

enum class HostKeyDecision : uint8_t {
  accept,
  accept_and_record,  ///< append known_hosts_line to the first user_known_hosts_files
  refuse
};
HostKeyDecision decide_host_key(HostKeyVerdict::Kind verdict, HostKeyChecking checking);

/// Why the key is refused, for people: host, key type, fingerprint, place, and what repairs it; at
/// most four lines.
std::string refused_host_key_message(const KnownHost& host, const HostKey& key,
                                     const SshSettings& settings);

/// The line, with its newline, that makes the key known; with a salt the name is hashed.
std::string known_hosts_line(const KnownHost& host, const HostKey& key,
                             const std::optional<std::array<std::byte, 20>>& salt);
/// Appends a line to a known_hosts file, which is made if need be (0600, its folder 0700).
Result<> append_known_hosts(const std::string& path, std::string_view line);

}  // namespace dt
