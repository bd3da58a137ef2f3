#include "base/crypto.h"

#include "base/format.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <sys/random.h>

#include <cassert>
#include <cstring>
#include <memory>

namespace dt {

namespace {

std::string hex(ByteSpan bytes) {
  std::string text;
  for (const std::byte b : bytes)
    text += format("{:02x}", static_cast<unsigned>(b));
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

struct FreeContext {
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};
struct FreeMac {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
};
using Context = std::unique_ptr<EVP_MAC_CTX, FreeContext>;

Context hmac_context(std::string digest, ByteSpan key) {
  const std::unique_ptr<EVP_MAC, FreeMac> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  assert(mac);
  Context context(EVP_MAC_CTX_new(mac.get()));
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  const int ready = EVP_MAC_init(context.get(), raw(key.data()), key.size(), parameters);
  assert(ready == 1);
  static_cast<void>(ready);
  return context;
}

}  // namespace

Result<Token> Token::random() {
  Token token;
  TRY(random_bytes(token.secret));
  return token;
}

std::string Token::text() const {
  return hex(secret);
}

Result<Token> Token::parse(std::string_view text) {
  Token token;
  const auto wrong = [] { return fail(Errc::input, "expected a token of 64 hex digits"); };
  if (text.size() != 2 * token.secret.size()) return wrong();
  for (size_t i = 0; i < token.secret.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return wrong();
    token.secret[i] = static_cast<std::byte>(high * 16 + low);
  }
  return token;
}

void ignore_openssl_config() {
  // No cleanup at exit: it has no use and would delay the end of the process.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
}

Result<> random_bytes(std::span<std::byte> bytes) {
  // getrandom(2) returns up to 256 bytes complete, or fails.
  assert(bytes.size() <= 256);
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail_errno("no random bytes from the kernel");
  }
  return {};
}

Result<std::string> random_name(size_t count) {
  Bytes bytes(count);
  TRY(random_bytes(bytes));
  return hex(bytes);
}

struct Hmac::State {
  Context keyed;
};

Hmac::Hmac(ByteSpan key) : state_(std::make_unique<State>(State{hmac_context("SHA256", key)})) {
}

Hmac::Hmac(Hmac&&) noexcept = default;
Hmac& Hmac::operator=(Hmac&&) noexcept = default;
Hmac::~Hmac() = default;

Digest Hmac::digest(std::initializer_list<ByteSpan> parts) const {
  const Context context(EVP_MAC_CTX_dup(state_->keyed.get()));
  Digest digest;
  size_t length = 0;
  int good = 1;
  for (const ByteSpan part : parts) {
    good &= EVP_MAC_update(context.get(), raw(part.data()), part.size());
  }
  good &= EVP_MAC_final(context.get(), raw(digest.data()), &length, digest.size());
  assert(good == 1 && length == digest.size());
  static_cast<void>(good);
  return digest;
}

struct SipHash::State {
  Key key;
  Context context;
};

Result<> SipHash::check_available() {
  const std::unique_ptr<EVP_MAC, FreeMac> mac(EVP_MAC_fetch(nullptr, "SIPHASH", nullptr));
  if (mac) return {};
  return fail(Errc::refused,
              "OpenSSL has no SipHash, which guards messages between machines: its configuration "
              "allows only other algorithms, as for FIPS; set OPENSSL_CONF=/dev/null for the "
              "workers, or another configuration with the default provider");
}

SipHash::SipHash(const Key& key) {
  const std::unique_ptr<EVP_MAC, FreeMac> mac(EVP_MAC_fetch(nullptr, "SIPHASH", nullptr));
  assert(mac);
  state_ = std::make_unique<State>(State{key, Context(EVP_MAC_CTX_new(mac.get()))});
}

SipHash::SipHash(SipHash&&) noexcept = default;
SipHash& SipHash::operator=(SipHash&&) noexcept = default;
SipHash::~SipHash() = default;

SipHash::Tag SipHash::tag(std::initializer_list<ByteSpan> parts) {
  EVP_MAC_CTX* const context = state_->context.get();
  Tag tag;
  size_t length = 0;
  // The key is given again: without it, OpenSSL 3.0 would continue after the previous message.
  int good = EVP_MAC_init(context, raw(state_->key.data()), state_->key.size(), nullptr);
  for (const ByteSpan part : parts)
    good &= EVP_MAC_update(context, raw(part.data()), part.size());
  good &= EVP_MAC_final(context, raw(tag.data()), &length, tag.size());
  assert(good == 1 && length == tag.size());
  static_cast<void>(good);
  return tag;
}

struct Aes128Gcm::State {
  struct Free {
    void operator()(EVP_CIPHER_CTX* owned) const { EVP_CIPHER_CTX_free(owned); }
  };
  std::unique_ptr<EVP_CIPHER_CTX, Free> context;

  /// Sets the nonce of the next message, and the bytes beside it.
  int begin(const Context& message) const {
    std::array<std::byte, 12> nonce = {};
    std::memcpy(nonce.data(), &message.number, sizeof message.number);
    int good = EVP_CipherInit_ex(context.get(), nullptr, nullptr, nullptr, raw(nonce.data()), -1);
    if (!message.beside.empty()) good &= update(nullptr, message.beside);
    return good;
  }
  int update(std::byte* out, ByteSpan in) const {
    int written = 0;
    const int size = static_cast<int>(in.size());
    return EVP_CipherUpdate(context.get(), raw(out), &written, raw(in.data()), size);
  }
  int finish() const {
    std::array<unsigned char, 16> nothing;
    int written = 0;
    return EVP_CipherFinal_ex(context.get(), nothing.data(), &written);
  }
};

Aes128Gcm::Aes128Gcm(const Key& key, Use use) {
  state_ = std::make_unique<State>();
  state_->context.reset(EVP_CIPHER_CTX_new());
  const int good = EVP_CipherInit_ex(state_->context.get(), EVP_aes_128_gcm(), nullptr,
                                     raw(key.data()), nullptr, use == Use::seal ? 1 : 0);
  assert(good == 1);
  static_cast<void>(good);
}

Aes128Gcm::Aes128Gcm(Aes128Gcm&&) noexcept = default;
Aes128Gcm& Aes128Gcm::operator=(Aes128Gcm&&) noexcept = default;
Aes128Gcm::~Aes128Gcm() = default;

void Aes128Gcm::seal(const Context& context, ByteSpan plain, std::span<std::byte> sealed) {
  assert(sealed.size() == plain.size() + tag_bytes && plain.size() <= INT32_MAX);
  std::byte* const tag = sealed.data() + plain.size();
  int good = state_->begin(context);
  good &= state_->update(sealed.data(), plain);
  good &= state_->finish();
  good &= EVP_CIPHER_CTX_ctrl(state_->context.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag);
  assert(good == 1);
  static_cast<void>(good);
}

std::optional<ByteSpan> Aes128Gcm::open(const Context& context, std::span<std::byte> sealed) {
  assert(sealed.size() >= tag_bytes && sealed.size() <= INT32_MAX);
  const std::span<std::byte> bytes = sealed.first(sealed.size() - tag_bytes);
  std::byte* const tag = bytes.data() + bytes.size();
  int good = state_->begin(context);
  good &= state_->update(bytes.data(), bytes);
  good &= EVP_CIPHER_CTX_ctrl(state_->context.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag);
  assert(good == 1);
  if (state_->finish() != 1) return std::nullopt;
  return bytes;
}

struct HmacSha1::State {
  Context context;
};

HmacSha1::HmacSha1()
    : state_(std::make_unique<State>(State{hmac_context("SHA1", as_bytes("replaced later"))})) {
}

HmacSha1::HmacSha1(HmacSha1&&) noexcept = default;
HmacSha1& HmacSha1::operator=(HmacSha1&&) noexcept = default;
HmacSha1::~HmacSha1() = default;

Sha1Digest HmacSha1::digest(ByteSpan key, ByteSpan message) {
  // With an empty key OpenSSL would continue to use the previous one.
  assert(!key.empty());
  EVP_MAC_CTX* const context = state_->context.get();
  Sha1Digest digest;
  size_t length = 0;
  int good = EVP_MAC_init(context, raw(key.data()), key.size(), nullptr);
  good &= EVP_MAC_update(context, raw(message.data()), message.size());
  good &= EVP_MAC_final(context, raw(digest.data()), &length, digest.size());
  assert(good == 1 && length == digest.size());
  static_cast<void>(good);
  return digest;
}

Digest hmac_sha256(ByteSpan key, std::initializer_list<ByteSpan> parts) {
  return Hmac(key).digest(parts);
}

struct Ed25519Key::State {
  struct Free {
    void operator()(EVP_PKEY* owned) const { EVP_PKEY_free(owned); }
  };
  std::unique_ptr<EVP_PKEY, Free> key;
};

std::optional<Ed25519Key> Ed25519Key::of_seed(ByteSpan seed) {
  constexpr size_t seed_bytes = 32;
  if (seed.size() != seed_bytes) return std::nullopt;
  State state;
  state.key.reset(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(seed.data()), seed.size()));
  if (!state.key) return std::nullopt;
  Ed25519Key key;
  key.state_ = std::make_shared<const State>(std::move(state));
  return key;
}

Result<Bytes> Ed25519Key::sign(ByteSpan message) const {
  struct FreeDigest {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  Bytes signature(64);
  size_t size = signature.size();
  int good =
      context ? EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, state_->key.get()) : 0;
  if (good == 1) {
    good = EVP_DigestSign(context.get(), raw(signature.data()), &size, raw(message.data()),
                          message.size());
  }
  if (good != 1) return fail(Errc::os, "OpenSSL cannot sign with the key");
  return signature;
}

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* owned) const { EVP_MD_CTX_free(owned); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  state_->context.reset(EVP_MD_CTX_new());
  const int good = EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr);
  assert(good == 1);
  static_cast<void>(good);
}

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::add(ByteSpan bytes) {
  const int good = EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
  assert(good == 1);
  static_cast<void>(good);
}

Digest Sha256::finish() {
  Digest digest;
  const int good = EVP_DigestFinal_ex(state_->context.get(), raw(digest.data()), nullptr);
  assert(good == 1);
  static_cast<void>(good);
  return digest;
}

Digest sha256(ByteSpan bytes) {
  Digest digest;
  const int good =
      EVP_Digest(bytes.data(), bytes.size(), raw(digest.data()), nullptr, EVP_sha256(), nullptr);
  assert(good == 1);
  static_cast<void>(good);
  return digest;
}

bool equal_in_constant_time(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace dt
