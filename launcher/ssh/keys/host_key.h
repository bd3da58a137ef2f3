#pragma once

#include "base/bytes.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// A server's public key as it stands on the wire (RFC 4253 6.6).
struct HostKey {
  std::string type;  ///< "ssh-ed25519"
  Bytes blob;
  bool operator==(const HostKey&) const = default;
};

/// The key of a blob: its type is the blob's first string. None when the blob is no plain key (a
/// certificate is none) that OpenSSH would load.
std::optional<HostKey> host_key_of(ByteSpan blob);
/// The key of known_hosts' text "ssh-ed25519 AAAA…", with anything behind it.
std::optional<HostKey> parse_host_key(std::string_view text);
/// "ssh-ed25519 AAAA…".
std::string host_key_text(const HostKey& key);
/// "SHA256:…" as OpenSSH prints it.
std::string fingerprint(const HostKey& key);

/// A key as people are shown it.
struct HostKeyName {
  std::string type;
  std::string fingerprint;
  bool operator==(const HostKeyName&) const = default;
};
HostKeyName name_of(const HostKey& key);

}  // namespace dt
