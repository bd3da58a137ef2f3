#include "launcher/ssh/session.h"

#include "base/crypto.h"
#include "tests/unit/launcher/ssh/ssh_client.h"
#include "tests/unit/run_until.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <map>
#include <random>

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

std::string random_text(size_t size) {
  std::mt19937 random(7);
  std::string text(size, '\0');
  for (char& byte : text)
    byte = static_cast<char>(random());
  return text;
}

/// Writes `text` as fast as the session takes it, with at most a megabyte queued, and then ends the
/// input.
void feed(SshClient& client, std::string_view text) {
  auto sent = std::make_shared<size_t>(0);
  const auto more = [&client, sent, text] {
    constexpr size_t chunk = size_t{100} << 10;
    while (*sent < text.size() && client.session->unsent() < (size_t{1} << 20)) {
      client.session->write(as_bytes(text.substr(*sent, chunk)));
      *sent = std::min(text.size(), *sent + chunk);
    }
    if (*sent == text.size()) client.session->close_after_sending();
  };
  client.on_drained = more;
  more();
}

TEST_CASE("a command's output, stderr and status come back") {
  if (no_ssh_here()) return;
  const SshServer server;
  const auto loop = Loop::create().value();
  SshClient client(*loop, server, "echo out; echo err >&2; exit 7");
  client.start();
  CHECK(client.run() == "ended");
  CHECK(client.opened == 1);
  CHECK(client.received == "out\n");
  CHECK(client.end->errors == "err\n");
  CHECK(client.end->exit.status == 7);
  CHECK(client.end->exit.signal.empty());
  // check_host_key got the key that ssh-keygen made.
  const std::string key = server.folder().read("host_key.pub");
  CHECK(key.starts_with(client.key_seen.substr(4, 11) + " "));

  SshClient killed(*loop, server, "kill -TERM $$");
  killed.start();
  CHECK(killed.run() == "ended");
  CHECK(killed.end->exit.signal == "TERM");
}

TEST_CASE("50 MB go through cat and back unchanged, while the reader pauses now and then") {
  if (no_ssh_here()) return;
  const SshServer server;
  const auto loop = Loop::create().value();
  SshClient client(*loop, server, "cat");
  const std::string text = random_text(size_t{50} << 20);
  client.received.reserve(text.size());
  auto handlers = client.handlers();
  int pauses = 0;
  Timer resuming;
  handlers.on_bytes = [&](ByteSpan bytes) {
    // Consume half of it: the rest must come again.
    const size_t used = bytes.size() > 1 ? bytes.size() / 2 : bytes.size();
    client.received += as_text(bytes.first(used));
    if (++pauses % 50 == 0) {
      client.session->pause();
      resuming = loop->after(milliseconds(1), [&] { client.session->resume(); });
    }
    return used;
  };
  // The last bytes get no further call: at the end of the command the handler consumes all.
  handlers.on_bytes = [&, halved = handlers.on_bytes](ByteSpan bytes) {
    if (client.received.size() + bytes.size() < text.size()) return halved(bytes);
    client.received += as_text(bytes);
    return bytes.size();
  };
  client.start(std::move(handlers));
  feed(client, text);
  CHECK(client.run() == "ended");
  CHECK(client.received.size() == text.size());
  CHECK(sha256(as_bytes(client.received)) == sha256(as_bytes(text)));
  CHECK(client.end->exit.status == 0);
}

TEST_CASE("keys are exchanged anew in the middle of the traffic") {
  if (no_ssh_here()) return;
  const SshServer server("RekeyLimit 1M");
  const auto loop = Loop::create().value();
  SshClient client(*loop, server, "cat");
  const std::string text = random_text(size_t{8} << 20);
  client.start();
  feed(client, text);
  CHECK(client.run() == "ended");
  CHECK(client.received == text);
}

TEST_CASE("a reader that pauses for good holds the sender back") {
  if (no_ssh_here()) return;
  const SshServer server;
  const auto loop = Loop::create().value();
  SshClient client(*loop, server, "head -c 30000000 /dev/zero; echo done >&2");
  auto handlers = client.handlers();
  bool paused = false;
  handlers.on_bytes = [&](ByteSpan bytes) {
    client.received += as_text(bytes);
    client.session->pause();
    paused = true;
    return bytes.size();
  };
  client.start(std::move(handlers));
  run_until(*loop, [&] { return paused; });
  // No more bytes may come, however long the Loop runs.
  const size_t had = client.received.size();
  for (int round = 0; round < 100; ++round)
    REQUIRE(loop->run_once(Clock::now() + milliseconds(1)));
  CHECK(client.received.size() == had);
  CHECK(!client.end);
  run_until(*loop, [&] {
    client.session->resume();
    return client.end.has_value();
  });
  CHECK(client.received.size() == 30000000);
  CHECK(client.end->errors == "done\n");
}

TEST_CASE("either side may end its direction first") {
  if (no_ssh_here()) return;
  const SshServer server;
  const auto loop = Loop::create().value();
  SshClient ours(*loop, server, "cat; echo after the end");
  ours.start().write(as_bytes("words\n"));
  ours.session->close_after_sending();
  CHECK(ours.run() == "ended");
  CHECK(ours.received == "words\nafter the end\n");

  SshClient theirs(*loop, server, "echo open; exec >&-; read word; test $word = go; exit $?");
  theirs.start();
  run_until(*loop, [&] { return theirs.received == "open\n"; });
  theirs.session->write(as_bytes("go\n"));
  CHECK(theirs.run() == "ended");
  CHECK(theirs.end->exit.status == 0);
}

TEST_CASE("the last 64 KiB of stderr are kept") {
  if (no_ssh_here()) return;
  const SshServer server;
  const auto loop = Loop::create().value();
  SshClient client(*loop, server, "yes | head -c 5000000 >&2; echo end");
  client.start();
  CHECK(client.run() == "ended");
  CHECK(client.received == "end\n");
  CHECK(client.end->errors.size() == SshSession::errors_bytes_max);
}

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

TEST_CASE("where no process listens, the address and the reason are named") {
  if (!ssh_library().present) return;
  const auto loop = Loop::create().value();
  const Fd held = hold_port(0).value();
  const Address nobody{"127.0.0.1", local_address(held.get()).value().port};
  SshClient client(*loop, nobody);
  client.start();
  CHECK(client.run() == format("cannot connect to {}: Connection refused", nobody.text()));
  CHECK(client.failed_in() == SshPhase::connecting);
  CHECK(worth_retrying(*client.end->failure));
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

TEST_CASE("a connection that is cut while the command runs is a failure") {
  if (no_ssh_here()) return;
  const SshServer server;
  const auto loop = Loop::create().value();
  // Its parent is the sshd of this one connection.
  SshClient client(*loop, server, "echo last words; kill -9 $PPID; cat");
  client.start();
  CHECK(client.run().starts_with("the connection was lost"));
  CHECK(client.failed_in() == SshPhase::open);
  CHECK(client.code() == Errc::closed);
}

TEST_CASE("a session may be destroyed in any phase and in any of its handlers") {
  if (no_ssh_here()) return;
  const SshServer server;
  const auto loop = Loop::create().value();
  for (const SshPhase phase : {SshPhase::connecting, SshPhase::banner, SshPhase::key_exchange,
                               SshPhase::login, SshPhase::channel, SshPhase::open}) {
    SshClient client(*loop, server, "cat");
    client.start();
    run_until(*loop, [&] { return client.session->phase() >= phase; });
    client.session.reset();
    CHECK(!client.end);
  }
  for (int which = 0; which < 3; ++which) {
    SshClient client(*loop, server, "echo word");
    auto handlers = client.handlers();
    const auto destroy = [&](int now) {
      if (now == which) client.session.reset();
    };
    handlers.on_open = [&] { destroy(0); };
    handlers.on_bytes = [&](ByteSpan bytes) {
      destroy(1);
      return bytes.size();
    };
    handlers.on_end = [&](const SshSession::End&) { destroy(2); };
    client.start(std::move(handlers));
    run_until(*loop, [&] { return client.session == nullptr; });
  }
}

TEST_CASE("60 sessions at once get through a server that drops the half of them") {
  if (no_ssh_here()) return;
  const SshServer server("MaxStartups 10:30:100");
  const auto loop = Loop::create().value();
  constexpr size_t count = 60;
  std::map<size_t, std::unique_ptr<SshClient>> clients;
  std::map<size_t, int> attempts;
  std::vector<Timer> retries(count);
  size_t done = 0;
  std::vector<std::string> failures;
  std::function<void(size_t)> connect = [&](size_t number) {
    auto& client = clients[number];
    client = std::make_unique<SshClient>(*loop, server, "true");
    auto handlers = client->handlers();
    handlers.on_end = [&, number](const SshSession::End& end) {
      if (end.failure && worth_retrying(*end.failure)) {
        const Duration delay = retry_delay(++attempts[number], number);
        retries[number] = loop->after(delay, [&, number] { connect(number); });
        return;
      }
      if (end.failure) failures.push_back(end.failure->error.message);
      ++done;
    };
    client->start(std::move(handlers));
  };
  for (size_t number = 0; number < count; ++number)
    connect(number);
  run_until(*loop, [&] { return done == count; });
  CHECK(failures == std::vector<std::string>());
}

}  // namespace
}  // namespace dt
