#include "launcher/ssh/opening.h"

#include "tests/unit/launcher/ssh/ssh_client.h"

#include <sys/epoll.h>

namespace dt {
namespace {

/// Sends the same bytes on each connection, keeps or closes it, and stores the bytes received.
struct FakeServer {
  Loop& loop;
  std::string sends;
  bool closes = false;
  Fd listener = listen_on({"127.0.0.1", 0}).value();
  Watch watch = loop.watch(listener.get(), EPOLLIN, [this](uint32_t) { accept(); }).value();
  std::vector<std::unique_ptr<Stream>> streams = {};
  std::string heard = {};

  Address address() const { return local_address(listener.get()).value(); }
  void accept() {
    Fd fd = accept_one(listener.get()).value();
    if (!fd) return;
    streams.push_back(Stream::open(loop, std::move(fd), Fd(),
                                   {.on_bytes =
                                        [this](ByteSpan bytes) {
                                          heard += as_text(bytes);
                                          return bytes.size();
                                        },
                                    .on_end = [](const std::optional<Error>&) {},
                                    .on_drained = {}})
                          .value());
    streams.back()->write(as_bytes(sends));
    if (closes) streams.back()->close_after_sending();
  }
};

TEST_CASE("no name is sent to a server whose key is refused") {
  if (no_ssh_here()) return;
  const SshServer server("LogLevel DEBUG1");
  const auto loop = Loop::create().value();
  SshClient client(*loop, server, "true");
  client.verdict = fail(Errc::refused, "unknown host key");
  client.start();
  CHECK(client.run() == "unknown host key");
  CHECK(client.failed_in() == SshPhase::host_key);
  CHECK(!worth_retrying(*client.end->failure));
  CHECK(client.opened == 0);

  SshClient trusting(*loop, server, "true");
  trusting.start();
  CHECK(trusting.run() == "ended");
  // Only the second session sent requests: one with its key, and one with the signature.
  const std::string log = server.log();
  size_t requests = 0;
  for (size_t at = log.find("userauth-request"); at != std::string::npos;
       at = log.find("userauth-request", at + 1))
    ++requests;
  CHECK(requests == 2);
}

TEST_CASE("a known type of host key is requested first") {
  if (no_ssh_here()) return;
  SshServer server;
  server.make_key("other_key", "ecdsa");
  const SshServer both(format("HostKey {}", server.path("other_key")));
  const auto loop = Loop::create().value();
  for (const std::string type : {"ssh-ed25519", "ecdsa-sha2-nistp256"}) {
    SshClient client(*loop, both, "true");
    client.target.host_key_types = {type};
    client.start();
    CHECK(client.run() == "ended");
    CHECK(client.key_seen.substr(4, type.size()) == type);
  }
}

TEST_CASE("a host that is known by its rsa key is left to OpenSSH where libssh2 is too old") {
  if (no_ssh_here() || ssh_library().rsa_sha2) return;
  const SshServer server;
  const auto loop = Loop::create().value();
  SshClient client(*loop, server, "true");
  client.target.host_key_types = {"ssh-rsa"};
  client.start();
  CHECK(client.run().starts_with("the host is known by its rsa key, which libssh2 1.10"));
  CHECK(client.code() == Errc::unsupported);
  CHECK(client.key_seen.empty());
}

TEST_CASE("a server without any of the algorithms is left to OpenSSH") {
  if (no_ssh_here()) return;
  const SshServer server("KexAlgorithms diffie-hellman-group14-sha1");
  const auto loop = Loop::create().value();
  SshClient client(*loop, server, "true");
  client.start();
  client.run();
  CHECK(client.failed_in() == SshPhase::key_exchange);
  CHECK(client.code() == Errc::unsupported);
}

TEST_CASE("an answer that does not come from an SSH server is quoted") {
  if (!ssh_library().present) return;
  struct Case {
    std::string sends;
    bool closes;
    Errc code;
    std::string message;
  };
  const std::string noise(300'000, 'x');
  const Case cases[] = {
      {"", true, Errc::closed,
       "the server closed the connection while waiting for the server's banner"},
      {"Exceeded MaxStartups\r\n", true, Errc::closed,
       "the server closed the connection with the message 'Exceeded MaxStartups'"},
      {"\n\n", true, Errc::protocol, "it answered '\\x0A\\x0A' where an SSH server was expected"},
      {std::string("\0\1\2", 3), false, Errc::protocol,
       "it answered '\\x00\\x01\\x02' where an SSH server was expected"},
      {noise, false, Errc::protocol,
       "it answered '" + std::string(120, 'x') + "…' where an SSH server was expected"},
      {"SSH-2.0-x\r\n", true, Errc::closed,
       "the server closed the connection while exchanging keys"},
      {"SSH-2.0-x\r\n" + noise, false, Errc::protocol, ""},
  };
  const auto loop = Loop::create().value();
  for (const Case& row : cases) {
    FakeServer server{.loop = *loop, .sends = row.sends, .closes = row.closes};
    SshClient client(*loop, server.address());
    client.start();
    const std::string message = client.run();
    CAPTURE(message);
    CHECK(client.code() == row.code);
    if (!row.message.empty()) CHECK(message == row.message);
    CHECK(worth_retrying(*client.end->failure) == (row.code == Errc::closed));
    CHECK(server.heard.find("me") == std::string::npos);
  }
}

TEST_CASE("the session fails at the deadline, with the phase, when the server never answers") {
  if (!ssh_library().present) return;
  const auto loop = Loop::create().value();
  FakeServer silent{.loop = *loop, .sends = ""};
  SshClient client(*loop, silent.address());
  client.start(nullptr, seconds(1));
  CHECK(client.run() == "no answer in time while waiting for the server's banner");
  CHECK(client.code() == Errc::timeout);

  FakeServer banner_only{.loop = *loop, .sends = "SSH-2.0-x\r\n"};
  SshClient second(*loop, banner_only.address());
  second.start(nullptr, seconds(1));
  CHECK(second.run() == "no answer in time while exchanging keys");
}

TEST_CASE("a server that allows no session refuses the channel") {
  if (no_ssh_here()) return;
  const SshServer server("MaxSessions 0");
  const auto loop = Loop::create().value();
  SshClient client(*loop, server, "true");
  client.start();
  CHECK(client.run().find("libssh2 error -21") != std::string::npos);
  CHECK(client.failed_in() == SshPhase::channel);
  CHECK(client.code() == Errc::refused);
}

}  // namespace
}  // namespace dt
