#include "launcher/ssh/keys/key_agent.h"

#include "base/io/socket.h"
#include "launcher/ssh/keys/wire.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/socket.h>
#include <sys/un.h>

namespace dt {
namespace {

/// An ssh-agent that sends the test's replies; login_test.cc has a real one.
struct Fixture {
  TemporaryFolder folder;
  std::unique_ptr<Loop> loop = Loop::create().value();
  Fd listener = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::unique_ptr<KeyAgent> agent;
  Fd peer;
  std::optional<Result<std::vector<Bytes>>> keys;
  std::optional<Result<Bytes>> signature;

  Fixture() {
    const std::string path = folder.path() + "/agent";
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(listener.get(), 1) == 0);
    agent = KeyAgent::connect(*loop, path).value();
    peer = accept_one(listener.get()).value();
  }
  void ask() {
    agent->list_keys([this](Result<std::vector<Bytes>> result) { keys = std::move(result); });
    agent->sign({.key = as_bytes("key"), .data = as_bytes("data"), .flags = 4},
                [this](Result<Bytes> result) { signature = std::move(result); });
  }
  void answer(ByteSpan bytes) const { REQUIRE(write_all(peer.get(), bytes)); }
  void run() const {
    run_until(*loop, [this] { return keys && signature; });
  }
};

Bytes message(const SshWriter& body) {
  return SshWriter().string(body.view()).take();
}

TEST_CASE(
    "requests are written as the protocol has them, and replies come in the order of the "
    "requests") {
  Fixture fixture;
  fixture.ask();
  Bytes wanted = message(SshWriter().byte(11));
  const Bytes second = message(SshWriter().byte(13).string("key").string("data").number(4));
  wanted.insert(wanted.end(), second.begin(), second.end());
  Bytes heard(wanted.size());
  REQUIRE(recv(fixture.peer.get(), heard.data(), heard.size(), MSG_WAITALL) ==
          static_cast<ssize_t>(heard.size()));
  CHECK(heard == wanted);

  Bytes reply = message(
      SshWriter().byte(12).number(2).string("one").string("a comment").string("two").string(""));
  const Bytes signature =
      message(SshWriter().byte(14).string(SshWriter().string("ssh-rsa").string("signed").view()));
  reply.insert(reply.end(), signature.begin(), signature.end());
  // In pieces of one byte: only a complete reply counts.
  for (const std::byte& byte : reply) {
    fixture.answer({&byte, 1});
    REQUIRE(fixture.loop->run_once(Clock::now() + seconds(30)));
  }
  fixture.run();
  CHECK(fixture.keys->value() == std::vector<Bytes>{to_bytes("one"), to_bytes("two")});
  CHECK(fixture.signature->value() == to_bytes("signed"));
}

TEST_CASE(
    "requests fail when the agent refuses, sends malformed replies or closes the connection") {
  struct Case {
    Bytes reply;
    std::string keys;
    std::string signature;
  };
  const Bytes refusal = message(SshWriter().byte(5));
  const std::string closed = "ssh-agent: it closed the connection";
  const std::string malformed = "ssh-agent: ssh-agent sent a malformed reply";
  const Case cases[] = {
      {refusal, "ssh-agent lists no keys", closed},
      {message(SshWriter().byte(12).number(3).string("one")), "ssh-agent's reply is cut short",
       closed},
      {message(SshWriter().byte(12).number(0xffffffff)), "ssh-agent's reply is cut short", closed},
      {message(SshWriter()), "ssh-agent lists no keys", closed},
      {SshWriter().number(0x7fffffff).take(), malformed, malformed},
      {{}, closed, closed},
  };
  for (const Case& row : cases) {
    Fixture fixture;
    fixture.ask();
    fixture.answer(row.reply);
    shutdown(fixture.peer.get(), SHUT_WR);
    fixture.run();
    CHECK(fixture.keys->error().message == row.keys);
    CHECK(fixture.signature->error().message == row.signature);
    // Later requests fail as well, but not within the call.
    fixture.keys.reset();
    fixture.signature.reset();
    fixture.ask();
    CHECK(!fixture.keys);
    fixture.run();
    CHECK(!*fixture.keys);
  }
}

TEST_CASE("where no agent listens, connect fails") {
  const auto loop = Loop::create().value();
  CHECK(KeyAgent::connect(*loop, "/nowhere/agent").error().message ==
        "cannot connect to ssh-agent at /nowhere/agent: No such file or directory");
  CHECK(KeyAgent::connect(*loop, std::string(200, 'x')).error().code == Errc::input);
}

}  // namespace
}  // namespace dt
