#pragma once

#include "base/bytes.h"
#include "base/crypto.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// A file with a private key (IdentityFile), as far as its owner may use it.
struct SshIdentity {
  std::string path;
  std::string type;    ///< "ssh-ed25519"; empty where only the key's library could tell (PEM)
  Bytes public_blob;   ///< empty where the file does not tell (PEM)
  std::string secret;  ///< the file's text; empty when it cannot be used
  /// The key itself, where we read it: libssh2 has OpenSSL look for every form of key, twice a
  /// login, which takes longer than all else together.
  std::optional<Ed25519Key> ed25519 = {};
  /// Why it cannot be used, and what to do; empty when it can.
  std::string problem;
  bool encrypted = false;
  bool has_certificate = false;  ///< PATH-cert.pub is there, which only the OpenSSH client offers
};

/// Reads a private key's text as ssh-keygen writes it, or in PEM, whose public half stays unknown.
/// Nothing is decrypted.
SshIdentity parse_identity(std::string path, std::string text);

/// Reads the file as ssh does: a key that others may read is not used. None when there is no file.
std::optional<SshIdentity> load_identity(const std::string& path);

/// "ed25519" for "ssh-ed25519", "ecdsa" for "ecdsa-sha2-nistp256": what people call it.
std::string_view short_key_type(std::string_view type);

}  // namespace dt
