#include "launcher/ssh/keys/keyring.h"

#include "tests/unit/launcher/ssh/ssh_fixture.h"
#include "tests/unit/run_program.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

struct Fixture {
  TemporaryFolder folder = {};
  FakeWorld fake = {};
  SshWorld world = fake.world();
  std::unique_ptr<Loop> loop = Loop::create().value();
  SshKeyring keyring{*loop, world};

  std::string path(const std::string& name) const { return folder.path() + "/" + name; }
};

TEST_CASE("key files that are there are read once, and shared") {
  Fixture f;
  f.folder.write("key", "no key");
  const SshSettings settings = {.identity_files = {f.path("none"), f.path("key")}};
  const auto first = f.keyring.identities(settings);
  REQUIRE(first.size() == 1);
  CHECK(first.front()->path == f.path("key"));
  std::filesystem::remove(f.path("key"));
  CHECK(f.keyring.identities(settings) == first);
}

TEST_CASE("there is no agent where none is named, wanted, or listening") {
  Fixture f;
  CHECK(f.keyring.agent({}) == nullptr);
  f.fake.variables["SSH_AUTH_SOCK"] = f.path("nobody");
  CHECK(f.keyring.agent({}) == nullptr);
  const SocketPair pair = make_socketpair().value();
  CHECK(f.keyring.agent({.identity_agent = "none"}) == nullptr);
  CHECK(f.keyring.agent({.identity_agent = f.path("nobody")}) == nullptr);
}

TEST_CASE("known_hosts files are read once for all hosts") {
  Fixture f;
  f.fake.files["/kh"] =
      "a,b ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
      "BBBBBBBB\n";
  SshSettings settings = {.host_name = "a", .user_known_hosts_files = {"/kh"}};
  CHECK(f.keyring.known_host(settings).keys.size() == 1);
  f.fake.files.clear();
  settings.host_name = "b";
  CHECK(f.keyring.known_host(settings).keys.size() == 1);
  settings.host_name = "c";
  CHECK(f.keyring.known_host(settings).keys.empty());
}

TEST_CASE("a Kerberos ticket is for the OpenSSH client, where there is no key") {
  Fixture f;
  f.folder.write("ticket", "x");
  f.folder.write("key", "x");
  struct Case {
    bool gssapi;
    std::string cache;
    std::string key;
    std::string needs;
  };
  const std::string why = "no key, but a Kerberos ticket";
  const Case cases[] = {{true, "FILE:" + f.path("ticket"), "none", why},
                        {true, f.path("ticket"), "none", why},
                        {true, "KCM:", "none", why},
                        {true, f.path("ticket"), "key", ""},
                        {true, f.path("none"), "none", ""},
                        {false, f.path("ticket"), "none", ""}};
  for (const Case& c : cases) {
    CAPTURE(c.cache);
    f.fake.variables["KRB5CCNAME"] = c.cache;
    const SshSettings settings = {.identity_files = {f.path(c.key)}, .gssapi = c.gssapi};
    CHECK(f.keyring.needs_openssh(settings) == c.needs);
  }
}

}  // namespace
}  // namespace dt
