#include "launcher/ssh/session.h"

#include "tests/unit/launcher/ssh/ssh_client.h"
#include "tests/unit/run_until.h"

#include <map>

namespace dt {
namespace {

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
