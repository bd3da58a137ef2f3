#pragma once

#include "base/bytes.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// A server's public key in its wire format (RFC 4253 6.6).
struct HostKey {
  std::string type;  ///< "ssh-ed25519"
  Bytes blob;
  bool operator==(const HostKey&) const = default;
};

/// Returns the key of a blob, whose first string is the type. None unless the blob is a plain key
/// (not a certificate) that OpenSSH would load.
std::optional<HostKey> host_key_of(ByteSpan blob);
/// Parses the key of a known_hosts line, "ssh-ed25519 AAAA…", with any text after it.
std::optional<HostKey> parse_host_key(std::string_view text);
/// Returns "ssh-ed25519 AAAA…".
std::string host_key_text(const HostKey& key);
/// Returns "SHA256:…" as OpenSSH prints it.
std::string fingerprint(const HostKey& key);

/// A key as messages show it.
struct HostKeyName {
  std::string type;
  std::string fingerprint;
  bool operator==(const HostKeyName&) const = default;
};
HostKeyName name_of(const HostKey& key);

}  // namespace dt
