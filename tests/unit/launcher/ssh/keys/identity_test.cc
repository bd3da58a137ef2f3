#include "launcher/ssh/keys/identity.h"

#include "base/base64.h"
#include "base/format.h"
#include "launcher/ssh/keys/wire.h"
#include "tests/unit/run_program.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <unistd.h>

namespace dt {
namespace {

Bytes ed25519_blob() {
  return SshWriter().string("ssh-ed25519").string(std::string(32, 'k')).take();
}

/// Returns a key file in OpenSSH's format, which ends after its public half.
std::string openssh_key(std::string_view cipher, uint32_t keys = 1) {
  SshWriter body;
  for (const char byte : std::string_view("openssh-key-v1\0", 15))
    body.byte(static_cast<uint8_t>(byte));
  body.string(cipher).string("none").string("").number(keys).string(ed25519_blob());
  return format("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
                base64_encode(body.view()));
}

TEST_CASE("a key file contains its type, its public half and whether it is encrypted") {
  struct Case {
    std::string text;
    std::string type;
    bool blob;
    bool encrypted;
    std::string problem;
  };
  const std::string locked = "/k is encrypted and no ssh-agent holds it; try: ssh-add /k";
  const std::string none = "/k holds no private key";
  const Case cases[] = {
      {openssh_key("none"), "ssh-ed25519", true, false, ""},
      {openssh_key("aes256-ctr"), "ssh-ed25519", true, true, locked},
      {openssh_key("none", 2), "", false, false, none},
      {"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n", "ssh-rsa", false, false, ""},
      {"-----BEGIN EC PRIVATE KEY-----\nAAAA\n", "", false, false, ""},
      {"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", "ssh-rsa", false, true, locked},
      {"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n", "", false, true, locked},
      {"-----BEGIN OPENSSH PRIVATE KEY-----\n!!\n-----END OPENSSH PRIVATE KEY-----\n", "", false,
       false, none},
      {"-----END OPENSSH PRIVATE KEY-----\n-----BEGIN OPENSSH PRIVATE KEY-----\n", "", false, false,
       ""},
      {"ssh-ed25519 AAAA me@here\n", "", false, false, none},
      {"", "", false, false, none},
  };
  for (const Case& row : cases) {
    CAPTURE(row.text);
    const SshIdentity identity = parse_identity("/k", row.text);
    CHECK(identity.type == row.type);
    CHECK(identity.public_blob == (row.blob ? ed25519_blob() : Bytes()));
    CHECK(identity.encrypted == row.encrypted);
    CHECK(identity.problem == row.problem);
    CHECK(identity.secret == (row.problem.empty() ? row.text : ""));
  }
}

TEST_CASE("a file is read as ssh reads it: not when others may, and a missing one is none") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/key";
  CHECK(!load_identity(path));
  CHECK(!load_identity(path + "/key"));

  folder.write("key", openssh_key("none"), 0600);
  CHECK(load_identity(path)->problem.empty());
  CHECK(!load_identity(path)->has_certificate);
  folder.write("key-cert.pub", "");
  CHECK(load_identity(path)->has_certificate);

  folder.write("key", openssh_key("none"), 0640);
  const SshIdentity open = load_identity(path).value();
  CHECK(open.problem == format("{0} may be read by others (mode 0640), so it is not used; try: "
                               "chmod 600 {0}",
                               path));
  CHECK(open.secret.empty());
  CHECK(open.public_blob == ed25519_blob());  // an agent may hold it

  CHECK(load_identity(folder.path())->problem == folder.path() + " is no regular file");
  folder.write("key", std::string(2 << 20, 'x'), 0600);
  CHECK(load_identity(path)->problem ==
        format("cannot read {}: it is larger than any key file", path));
}

TEST_CASE("an Ed25519 key that ssh-keygen made is read, unless it is encrypted") {
  const TemporaryFolder folder;
  const auto made = [&folder](const std::string& type, const std::string& passphrase) {
    const std::string path = folder.path() + "/" + type + passphrase;
    const auto result = run_program({"ssh-keygen", "-q", "-t", type, "-N", passphrase, "-f", path});
    return result.status == 0 ? load_identity(path) : std::nullopt;
  };
  const std::optional<SshIdentity> plain = made("ed25519", "");
  if (!plain) {
    MESSAGE("skipped: there is no ssh-keygen");
    return;
  }
  CHECK(plain->ed25519.has_value());
  CHECK_FALSE(made("ed25519", "passphrase")->ed25519);
  CHECK_FALSE(made("ecdsa", "")->ed25519);
}

TEST_CASE("key types have short names") {
  CHECK(short_key_type("ssh-ed25519") == "ed25519");
  CHECK(short_key_type("ecdsa-sha2-nistp521") == "ecdsa");
  CHECK(short_key_type("ssh-rsa") == "rsa");
  CHECK(short_key_type("sk-ssh-ed25519@openssh.com") == "FIDO");
  CHECK(short_key_type("ssh-ed25519-cert-v01@openssh.com") == "certificate");
  CHECK(short_key_type("ssh-new") == "ssh-new");
  CHECK(short_key_type("") == "key");
}

}  // namespace
}  // namespace dt
