#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dt {

using Digest = std::array<std::byte, 32>;

/// A job's 256-bit secret. Its text form is only for the environment of workers: never log it.
struct Token {
  Digest secret = {};

  static Result<Token> random();
  /// Returns 64 hex digits.
  std::string text() const;
  static Result<Token> parse(std::string_view text);
  bool operator==(const Token&) const = default;
};

/// Makes OpenSSL ignore the machine's configuration file. Called before the first digest. Our
/// programs do not need that file, and reading it takes longer than their first handshake. A
/// library must not call it: the decision belongs to the program that loads the library.
void ignore_openssl_config();

/// Fills `bytes` from the kernel's random source.
Result<> random_bytes(std::span<std::byte> bytes);
/// Returns `count` random bytes as hex text, for unguessable names.
Result<std::string> random_name(size_t count);

/// SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();
  void add(ByteSpan bytes);
  /// Returns the digest of all bytes. Called once, at the end.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// HMAC-SHA256 (RFC 2104) with one key, for many messages.
class Hmac {
 public:
  explicit Hmac(ByteSpan key);
  Hmac(Hmac&&) noexcept;
  Hmac& operator=(Hmac&&) noexcept;
  ~Hmac();
  /// Returns the digest of the concatenated parts.
  Digest digest(std::initializer_list<ByteSpan> parts) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SipHash-2-4 with 128 bits of output, and one key for many short messages. It guards frames,
/// where an HMAC would cost more than the rest of a small frame.
class SipHash {
 public:
  using Key = std::array<std::byte, 16>;
  using Tag = std::array<std::byte, 16>;
  /// Fails where OpenSSL lacks SipHash, as with its configuration for FIPS. Constructors require
  /// that it does not fail.
  static Result<> check_available();
  explicit SipHash(const Key& key);
  SipHash(SipHash&&) noexcept;
  SipHash& operator=(SipHash&&) noexcept;
  ~SipHash();
  /// Returns the tag of the concatenated parts. Allocates nothing.
  Tag tag(std::initializer_list<ByteSpan> parts);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// AES-128 in Galois/Counter Mode (NIST SP 800-38D): encrypts and authenticates messages of one
/// direction. The number of a message is its nonce, so each number may be used once for a key.
class Aes128Gcm {
 public:
  using Key = std::array<std::byte, 16>;
  static constexpr size_t tag_bytes = 16;
  enum class Use : uint8_t { seal, open };
  Aes128Gcm(const Key& key, Use use);
  Aes128Gcm(Aes128Gcm&&) noexcept;
  Aes128Gcm& operator=(Aes128Gcm&&) noexcept;
  ~Aes128Gcm();

  /// A message's number, and the bytes beside it that the tag covers, too.
  struct Context {
    uint64_t number = 0;
    ByteSpan beside;
  };
  /// Writes the encrypted bytes and the tag: tag_bytes more than `plain` has.
  void seal(const Context& context, ByteSpan plain, std::span<std::byte> sealed);
  /// Decrypts in place. Returns the bytes without the tag, or none when the tag is wrong.
  std::optional<ByteSpan> open(const Context& context, std::span<std::byte> sealed);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

using Sha1Digest = std::array<std::byte, 20>;

/// HMAC-SHA1 with a new key for each digest, as OpenSSH uses it to hash the names in known_hosts.
/// One object for many digests costs a third of a microsecond each.
class HmacSha1 {
 public:
  HmacSha1();
  HmacSha1(HmacSha1&&) noexcept;
  HmacSha1& operator=(HmacSha1&&) noexcept;
  ~HmacSha1();
  /// Requires a key that is not empty.
  Sha1Digest digest(ByteSpan key, ByteSpan message);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A private key of Ed25519 (RFC 8032), for many signatures. Copies share the key.
class Ed25519Key {
 public:
  /// Returns none when the seed does not have 32 bytes.
  static std::optional<Ed25519Key> of_seed(ByteSpan seed);
  Result<Bytes> sign(ByteSpan message) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

Digest hmac_sha256(ByteSpan key, std::initializer_list<ByteSpan> parts);
Digest sha256(ByteSpan bytes);
/// Compares in a time that depends only on the length.
bool equal_in_constant_time(ByteSpan a, ByteSpan b);

}  // namespace dt
