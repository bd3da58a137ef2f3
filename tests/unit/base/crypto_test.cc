#include "base/crypto.h"

#include "base/format.h"

#include <doctest/doctest.h>

#include <set>

namespace dt {
namespace {

std::string hex(ByteSpan bytes) {
  std::string text;
  for (const std::byte b : bytes)
    text += format("{:02x}", static_cast<unsigned>(b));
  return text;
}

TEST_CASE("HMAC-SHA256 gives the digests of RFC 4231") {
  struct Case {
    std::string key;
    std::string message;
    const char* digest;  ///< its first bytes, where the RFC truncates
  };
  std::string counting;
  for (char c = 1; c <= 25; ++c)
    counting += c;
  const std::string long_key(131, '\xaa');
  const Case cases[] = {
      {std::string(20, '\x0b'), "Hi There",
       "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"Jefe", "what do ya want for nothing?",
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {std::string(20, '\xaa'), std::string(50, '\xdd'),
       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {counting, std::string(50, '\xcd'),
       "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
      {std::string(20, '\x0c'), "Test With Truncation", "a3b6167473100ee06e0c796c2955552b"},
      {long_key, "Test Using Larger Than Block-Size Key - Hash Key First",
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {long_key,
       "This is a test using a larger than block-size key and a larger than block-size data. The "
       "key needs to be hashed before being used by the HMAC algorithm.",
       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.message);
    const std::string digest = hex(hmac_sha256(as_bytes(c.key), {as_bytes(c.message)}));
    CHECK(digest.substr(0, std::string_view(c.digest).size()) == c.digest);
  }
}

TEST_CASE("HMAC-SHA1 gives the digests of RFC 2202, with one key after another") {
  const std::string long_key(80, '\xaa');
  HmacSha1 hmac;
  const auto digest = [&hmac](std::string_view key, std::string_view message) {
    return hex(hmac.digest(as_bytes(key), as_bytes(message)));
  };
  const std::string first = digest("Jefe", "what do ya want for nothing?");
  CHECK(first == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
  CHECK(digest(std::string(20, '\x0b'), "Hi There") == "b617318655057264e28bc0b6fb378c8ef146be00");
  CHECK(digest(long_key, "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "aa4ae5e15272d00e95705637ce8a3b55ed402112");
  CHECK(digest("Jefe", "what do ya want for nothing?") == first);
}

TEST_CASE("a key may be used for many messages, each in parts") {
  const Hmac hmac(as_bytes("Jefe"));
  const Digest whole = hmac.digest({as_bytes("what do ya want for nothing?")});
  CHECK(hmac.digest({as_bytes("what do ya "), {}, as_bytes("want for nothing?")}) == whole);
  CHECK(hmac.digest({as_bytes("what do ya want for nothing")}) != whole);
  CHECK(hmac.digest({as_bytes("what do ya want for nothing?")}) == whole);
  CHECK(Hmac(as_bytes("jefe")).digest({as_bytes("what do ya want for nothing?")}) != whole);
}

TEST_CASE("a moved Hmac continues") {
  Hmac first(as_bytes("Jefe"));
  const Digest digest = first.digest({as_bytes("x")});
  const Hmac second = std::move(first);
  CHECK(second.digest({as_bytes("x")}) == digest);
}

SipHash counting_key_hash() {
  SipHash::Key key;
  for (size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<std::byte>(i);
  return SipHash(key);
}

TEST_CASE("SipHash-2-4 gives the 128-bit tags of its reference implementation") {
  SipHash hash = counting_key_hash();
  CHECK(hex(hash.tag({})) == "a3817f04ba25a8e66df67214c7550293");
  const std::array<std::byte, 1> zero = {};
  CHECK(hex(hash.tag({zero})) == "da87c1d86b99af44347659119b22fc45");
  const std::array<std::byte, 2> zero_one = {std::byte{0}, std::byte{1}};
  CHECK(hex(hash.tag({zero_one})) == "8177228da4a45dc7fca38bdef60affe4");
}

TEST_CASE("a SipHash begins anew with each message, and takes it in any parts") {
  SipHash hash = counting_key_hash();
  const SipHash::Tag whole = hash.tag({as_bytes("sixteen bytes or more")});
  CHECK(hash.tag({as_bytes("sixteen bytes or more")}) == whole);
  CHECK(hash.tag({as_bytes("six"), {}, as_bytes("teen bytes or more")}) == whole);
  CHECK(hash.tag({as_bytes("sixteen bytes or mora")}) != whole);
  SipHash moved = std::move(hash);
  CHECK(moved.tag({as_bytes("sixteen bytes or more")}) == whole);
  CHECK(SipHash(SipHash::Key{}).tag({as_bytes("sixteen bytes or more")}) != whole);
}

TEST_CASE("OpenSSL's default configuration has SipHash") {
  CHECK(SipHash::check_available());
}

/// Returns the bytes, encrypted as message `number`, and their tag.
Bytes sealed(Aes128Gcm& cipher, uint64_t number, ByteSpan plain, ByteSpan beside = {}) {
  Bytes out(plain.size() + Aes128Gcm::tag_bytes);
  cipher.seal({number, beside}, plain, out);
  return out;
}

TEST_CASE("AES-128-GCM gives the results of its specification") {
  Aes128Gcm cipher({}, Aes128Gcm::Use::seal);
  CHECK(hex(sealed(cipher, 0, {})) == "58e2fccefa7e3061367f1d57a4e7455a");
  CHECK(hex(sealed(cipher, 0, Bytes(16))) ==
        "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf");
}

TEST_CASE("AES-128-GCM opens what was sealed, in place, and any number of messages") {
  Aes128Gcm seals(Aes128Gcm::Key{std::byte{7}}, Aes128Gcm::Use::seal);
  Aes128Gcm opens(Aes128Gcm::Key{std::byte{7}}, Aes128Gcm::Use::open);
  for (uint64_t number = 0; number < 300; ++number) {
    const Bytes plain(static_cast<size_t>(number), std::byte{42});
    Bytes bytes = sealed(seals, number, plain, as_bytes("beside"));
    const auto opened = opens.open({number, as_bytes("beside")}, bytes);
    REQUIRE(opened);
    CHECK(Bytes(opened->begin(), opened->end()) == plain);
    CHECK(opened->data() == bytes.data());
  }
}

TEST_CASE("AES-128-GCM opens nothing with another number, key, byte or bytes beside it") {
  const Aes128Gcm::Key key = {std::byte{7}};
  Aes128Gcm seals(key, Aes128Gcm::Use::seal);
  Aes128Gcm opens(key, Aes128Gcm::Use::open);
  const Bytes good = sealed(seals, 5, as_bytes("sixteen bytes or more"), as_bytes("ab"));
  const auto opens_as = [](Aes128Gcm& cipher, uint64_t number, Bytes bytes,
                           std::string_view beside) {
    return cipher.open({number, as_bytes(beside)}, bytes).has_value();
  };
  CHECK(opens_as(opens, 5, good, "ab"));
  CHECK(!opens_as(opens, 6, good, "ab"));
  CHECK(!opens_as(opens, 5, good, "ac"));
  CHECK(!opens_as(opens, 5, good, ""));
  Aes128Gcm other(Aes128Gcm::Key{std::byte{8}}, Aes128Gcm::Use::open);
  CHECK(!opens_as(other, 5, good, "ab"));
  for (size_t i = 0; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte{1};
    CHECK(!opens_as(opens, 5, bad, "ab"));
  }
  CHECK(opens_as(opens, 5, good, "ab"));
}

TEST_CASE("SHA-256 gives the digests of FIPS 180-4") {
  CHECK(hex(sha256({})) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256(as_bytes("abc"))) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("a token is read back from its 64 hex digits") {
  const Token token = Token::random().value();
  CHECK(token.text().size() == 64);
  CHECK(Token::parse(token.text()).value() == token);
}

TEST_CASE("what is no token is refused, and not repeated in the message") {
  const std::string digits(64, 'a');
  for (const std::string& bad :
       {std::string(), digits + "a", digits.substr(1), digits.substr(1) + "g",
        digits.substr(1) + "A", digits.substr(2) + " a"}) {
    CAPTURE(bad);
    const auto read = Token::parse(bad);
    REQUIRE(!read);
    CHECK(read.error() == Error{Errc::input, "expected a token of 64 hex digits"});
  }
}

TEST_CASE("random bytes, tokens and names do not repeat") {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    seen.insert(Token::random().value().text());
    const std::string name = random_name(16).value();
    CHECK(name.size() == 32);
    seen.insert(name);
  }
  CHECK(seen.size() == 200);
}

TEST_CASE("equal_in_constant_time compares all bytes and the length") {
  CHECK(equal_in_constant_time(as_bytes("abc"), as_bytes("abc")));
  CHECK(!equal_in_constant_time(as_bytes("abc"), as_bytes("abd")));
  CHECK(!equal_in_constant_time(as_bytes("xbc"), as_bytes("abc")));
  CHECK(!equal_in_constant_time(as_bytes("abc"), as_bytes("abcd")));
  CHECK(equal_in_constant_time({}, {}));
}

TEST_CASE("Ed25519 signs as RFC 8032 shows, section 7.1") {
  const Digest seed =
      Token::parse("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
          .value()
          .secret;
  const Ed25519Key key = Ed25519Key::of_seed(seed).value();
  CHECK(hex(key.sign({}).value()) ==
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701c"
        "f9b46bd25bf5f0595bbe24655141438e7a100b");
  CHECK_FALSE(Ed25519Key::of_seed(ByteSpan(seed).first(31)));
}

}  // namespace
}  // namespace dt
