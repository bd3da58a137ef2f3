#pragma once

#include "base/bytes.h"
#include "base/crypto.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// A file with a private key (IdentityFile), or the reason why it cannot be used.
struct SshIdentity {
  std::string path;
  std::string type;    ///< "ssh-ed25519"; empty for PEM files that do not name it
  Bytes public_blob;   ///< empty for PEM files
  std::string secret;  ///< the file's text; empty when the key cannot be used

  /// The parsed ed25519 key. Without it, libssh2 would have OpenSSL try every key format, twice a
  /// login. That takes longer than the rest of the login.
  std::optional<Ed25519Key> ed25519 = {};
  /// Why the key cannot be used, with a remedy; empty when it can.
  std::string problem;
  bool encrypted = false;
  bool has_certificate = false;  ///< PATH-cert.pub exists, which only the OpenSSH client offers
};

/// Parses a private key in ssh-keygen's own format or in PEM, whose public half stays unknown. It
/// decrypts nothing.
SshIdentity parse_identity(std::string path, std::string text);

/// Reads the file as ssh does: a key that others may read is not used. Returns none when the file
/// does not exist.
std::optional<SshIdentity> load_identity(const std::string& path);

/// Returns the usual name: "ed25519" for "ssh-ed25519", "ecdsa" for "ecdsa-sha2-nistp256".
std::string_view short_key_type(std::string_view type);

}  // namespace dt
