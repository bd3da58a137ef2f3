#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dt {

using Digest = std::array<std::byte, 32>;

/// A job's 256-bit secret. Its text form is for the environment of workers only: never log it.
struct Token {
  Digest secret = {};

  static Result<Token> random();
  /// 64 hex digits.
  std::string text() const;
  static Result<Token> parse(std::string_view text);
  bool operator==(const Token&) const = default;
};

/// Keeps the machine's openssl.cnf out of this process; to be called before the first digest. Our
/// programs need nothing of it, and reading it takes longer than their first handshake. A library
/// leaves that to the program that it is in.
void ignore_openssl_config();

/// Fills `bytes` from the kernel's random source.
Result<> random_bytes(std::span<std::byte> bytes);
/// `count` random bytes as hex text, for names that nobody can guess.
Result<std::string> random_name(size_t count);

/// HMAC-SHA256 (RFC 2104) with one key; reusable for many messages.
class Hmac {
 public:
  explicit Hmac(ByteSpan key);
  Hmac(Hmac&&) noexcept;
  Hmac& operator=(Hmac&&) noexcept;
  ~Hmac();
  /// The digest of the parts one after the other.
  Digest digest(std::initializer_list<ByteSpan> parts) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

using Sha1Digest = std::array<std::byte, 20>;

/// HMAC-SHA1 with many keys, one after the other: how OpenSSH hides the names in known_hosts. Made
/// once, it costs a third of a microsecond a digest.
class HmacSha1 {
 public:
  HmacSha1();
  HmacSha1(HmacSha1&&) noexcept;
  HmacSha1& operator=(HmacSha1&&) noexcept;
  ~HmacSha1();
  /// The key may not be empty.
  Sha1Digest digest(ByteSpan key, ByteSpan message);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A private key of Ed25519 (RFC 8032), for many signatures. Copies share it.
class Ed25519Key {
 public:
  /// None when the seed does not have 32 bytes.
  static std::optional<Ed25519Key> of_seed(ByteSpan seed);
  Result<Bytes> sign(ByteSpan message) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

Digest hmac_sha256(ByteSpan key, std::initializer_list<ByteSpan> parts);
Digest sha256(ByteSpan bytes);
/// Compares in time that depends on the length only.
bool equal_in_constant_time(ByteSpan a, ByteSpan b);

}  // namespace dt
