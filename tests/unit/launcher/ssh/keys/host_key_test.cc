#include "launcher/ssh/keys/host_key.h"

#include "base/base64.h"
#include "tests/unit/run_program.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const std::string ed25519 =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFgJvrI7X9nnx7/F0MbNEOjz/4ZMfJx+4RpICQX/t26";
const std::string nistp256 =
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBI0FkbUIcYK96RqQ/5L/"
    "eNacO4cQV3M4TTcdY6xUomuzc5cd3kbBssKYH/iZNJ+lSpZ1tMdH+tOkQoJjLDI+K38=";

/// Encodes a string as in RFC 4251.
std::string wire(std::string_view text) {
  const size_t size = text.size();
  std::string all = {static_cast<char>(size >> 24), static_cast<char>(size >> 16 & 0xff),
                     static_cast<char>(size >> 8 & 0xff), static_cast<char>(size & 0xff)};
  return all.append(text);
}

bool is_key(std::string_view blob) {
  return host_key_of(as_bytes(blob)).has_value();
}

TEST_CASE("a key's text and fingerprint are as OpenSSH prints them") {
  const HostKey key = parse_host_key(ed25519 + " comment").value();
  CHECK(key.type == "ssh-ed25519");
  CHECK(key.blob.size() == 51);
  CHECK(host_key_text(key) == ed25519);
  CHECK(fingerprint(key) == "SHA256:F4Y0ST+lPaXjf1zCGWaydcsY5l9zRvOcIuNtNgx6y5c");
  CHECK(fingerprint(parse_host_key(nistp256).value()) ==
        "SHA256:eOT6YuUEsITB0zqxQnO2IwFbJ2bBHotBVFy0qAQWcd4");
}

TEST_CASE("keys of all types that ssh-keygen makes are read, with ssh-keygen's fingerprint") {
  if (run_program({"ssh", "-V"}).status != 0) {
    MESSAGE("skipped: there is no ssh-keygen");
    return;
  }
  const TemporaryFolder folder;
  for (const std::string bits : {"ed25519", "ecdsa 256", "ecdsa 384", "ecdsa 521", "rsa 1024"}) {
    CAPTURE(bits);
    const std::string path = folder.path() + "/" + bits;
    std::vector<std::string> command = {"ssh-keygen", "-q", "-N", "", "-f", path, "-t"};
    for (const std::string_view word : split(bits, ' '))
      command.insert(command.end(), {std::string(word), "-b"});
    command.pop_back();
    REQUIRE(run_program(command).status == 0);
    const std::string text = folder.read(bits + ".pub");
    const std::optional<HostKey> key = parse_host_key(trim(text));
    REQUIRE(key);
    CHECK(text.starts_with(host_key_text(*key) + " "));
    CHECK(run_program({"ssh-keygen", "-lf", path + ".pub"}).output.find(fingerprint(*key)) !=
          std::string::npos);
  }
}

TEST_CASE("a text that is no key yields none") {
  CHECK(parse_host_key(" \t" + ed25519));
  for (const std::string& text :
       {std::string(), std::string("ssh-ed25519"), std::string("ssh-ed25519 "),
        std::string("ssh-ed25519 AAAA"), "ssh-rsa" + ed25519.substr(11), ed25519.substr(0, 70),
        ed25519 + "AAAA", "x" + ed25519, nistp256.substr(0, nistp256.size() - 8)}) {
    CAPTURE(text);
    CHECK_FALSE(parse_host_key(text));
  }
}

TEST_CASE("a blob has the parts of its type, whole and nothing after them") {
  const std::string point = wire("\x04" + std::string(64, 'x'));
  const std::string modulus = wire("\x7f" + std::string(127, 'x'));
  CHECK(is_key(wire("ssh-ed25519") + wire(std::string(32, 'k'))));
  CHECK(is_key(wire("ssh-rsa") + wire("\x01") +
               wire(std::string(1, '\0') + std::string(128, '\xff'))));
  CHECK(is_key(wire("ssh-dss") + wire("a") + wire("b") + wire("c") + wire("d")));
  CHECK(is_key(wire("ecdsa-sha2-nistp256") + wire("nistp256") + point));
  CHECK(
      is_key(wire("sk-ecdsa-sha2-nistp256@openssh.com") + wire("nistp256") + point + wire("ssh:")));
  CHECK(is_key(wire("sk-ssh-ed25519@openssh.com") + wire(std::string(32, 'k')) + wire("ssh:")));
  const std::string bad[] = {
      "",
      "\xff\xff\xff\xff",
      wire(""),
      wire("ssh-ed25519"),
      wire("ssh-ed25519") + wire(std::string(31, 'k')),
      wire("ssh-ed25519") + wire(std::string(32, 'k')) + "x",
      wire("ssh-rsa") + wire("\x01") + modulus,
      wire("ssh-rsa") + wire("\x81") + wire(std::string(200, 'x')),
      wire("ssh-rsa") + wire("\x01") + wire(std::string(200, '\xff')),
      wire("ssh-dss") + wire("a") + wire("b") + wire("c"),
      wire("ecdsa-sha2-nistp256") + wire("nistp384") + point,
      wire("ecdsa-sha2-nistp256") + wire("p256") + wire(std::string(133, '\4')),
      wire("ecdsa-sha2-nistp256") + wire("nistp256") + wire(std::string(65, '\2')),
      wire("sk-ssh-ed25519@openssh.com") + wire(std::string(32, 'k')),
      wire("ssh-ed25519-cert-v01@openssh.com") + wire(std::string(32, 'k')),
      wire("ssh-ed448") + wire(std::string(57, 'k')),
  };
  for (const std::string& blob : bad) {
    CAPTURE(base64_encode(as_bytes(blob)));
    CHECK_FALSE(is_key(blob));
  }
}

}  // namespace
}  // namespace dt
