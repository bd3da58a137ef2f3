#include "launcher/connect/dialed_connection.h"

#include "base/io/socket.h"
#include "tests/unit/rendezvous/secure/encrypted_sessions.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace dt {
namespace {

/// A connection, and the agent's end of it.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string received = {};
  std::optional<std::string> end = {};
  int settled = 0;
  bool destroyed = false;
  bool hangs_up = false;
  std::unique_ptr<DialedConnection> connection = std::make_unique<DialedConnection>(
      *loop,
      DialedConnection::Events{
          .on_settled = [this] { ++settled; },
          .on_destroyed = [this](const DialedConnection*) { destroyed = true; }},
      AgentConnection::Handlers{
          .on_bytes =
              [this](ByteSpan bytes) {
                received += as_text(bytes);
                if (hangs_up) connection->hang_up();
                return bytes.size();
              },
          .on_end = [this](const AgentConnection::CloseReason& reason) { end = reason.why; }});
  Fd agent = {};
  std::optional<RecordLayer> agents_records = {};

  void attach() {
    SocketPair pair = make_socketpair().value();
    REQUIRE(set_nonblocking(pair.ours.get()).has_value());
    agent = std::move(pair.theirs);
    agents_records.emplace(encrypted_session(SessionEnd::there));
    REQUIRE(connection->attach(std::move(pair.ours), encrypted_session(SessionEnd::here),
                               as_bytes("verdict")));
  }
  void send(std::string_view text) {
    Bytes wire;
    agents_records->seal(wire, as_bytes(text));
    REQUIRE(write_all(agent.get(), wire).has_value());
  }
  /// Returns what has arrived at the agent.
  Bytes arrived(size_t bytes) const {
    Bytes all(bytes);
    size_t got = 0;
    while (got < bytes) {
      const ssize_t n = ::read(agent.get(), all.data() + got, bytes - got);
      REQUIRE(n > 0);
      got += static_cast<size_t>(n);
    }
    return all;
  }
};

TEST_CASE_FIXTURE(Fixture, "DialedConnection carries bytes both ways, after the verdict") {
  CHECK(connection->awaited());
  attach();
  CHECK_FALSE(connection->awaited());
  CHECK_FALSE(connection->settled());
  CHECK(as_text(arrived(7)) == "verdict");
  send("magic");
  run_until(*loop, [&] { return received == "magic"; });
  connection->arrived();
  CHECK(connection->settled());
  CHECK(settled == 1);
  connection->write(as_bytes("launch"));
  const Bytes wire = arrived(sizeof(SealedHeader) + 6 + payload_tag_bytes);
  Bytes opened;
  CHECK(agents_records->open(wire, opened).value() == wire.size());
  CHECK(as_text(opened) == "launch");
  CHECK(connection->login().starts_with("by itself"));
}

TEST_CASE_FIXTURE(Fixture, "DialedConnection awaits another one when the first ends in silence") {
  attach();
  agent.reset();
  run_until(*loop, [&] { return connection->awaited(); });
  CHECK_FALSE(end);
  attach();
  send("magic");
  run_until(*loop, [&] { return received == "magic"; });
  agent.reset();
  run_until(*loop, [&] { return end.has_value(); });
  CHECK(end->starts_with("its connection ended"));
  CHECK(connection->ended());
}

TEST_CASE_FIXTURE(Fixture, "DialedConnection ends on bytes that its agent has not sealed") {
  attach();
  const Bytes forged(100, std::byte{1});
  REQUIRE(write_all(agent.get(), forged).has_value());
  run_until(*loop, [&] { return end.has_value(); });
  CHECK(received.empty());
  CHECK(connection->ended());
}

TEST_CASE_FIXTURE(Fixture, "DialedConnection whose agent never comes has the reason") {
  CHECK(connection->so_far().why == "its agent has not connected");
  connection->give_up({.why = "srun ended"});
  CHECK(*end == "srun ended");
  CHECK(connection->settled());
  connection->write(as_bytes("late"));
  CHECK(connection->unsent() == 0);
}

TEST_CASE_FIXTURE(Fixture, "DialedConnection hangs up once, also while it hands over bytes") {
  attach();
  hangs_up = true;
  send("magic");
  run_until(*loop, [&] { return received == "magic"; });
  CHECK(connection->ended());
  CHECK(settled == 1);
  connection->close_after_sending();
  CHECK(settled == 1);
  CHECK_FALSE(end);
  connection.reset();
  CHECK(destroyed);
}

TEST_CASE_FIXTURE(Fixture, "DialedConnection sends what is queued before it closes") {
  attach();
  send("magic");
  run_until(*loop, [&] { return received == "magic"; });
  connection->arrived();
  arrived(7);
  const std::string long_text(1'000'000, 'x');
  connection->write(as_bytes(long_text));
  connection->close_after_sending();
  Bytes wire;
  Bytes opened;
  REQUIRE(set_nonblocking(agent.get()).has_value());
  for (ssize_t n = -1; n != 0;) {
    REQUIRE(loop->run_once(Clock::now() + milliseconds(1)).has_value());
    std::array<std::byte, 65536> buffer;
    n = ::read(agent.get(), buffer.data(), buffer.size());
    if (n > 0) wire.insert(wire.end(), buffer.begin(), buffer.begin() + n);
  }
  CHECK(agents_records->open(wire, opened).value() == wire.size());
  CHECK(as_text(opened) == long_text);
}

}  // namespace
}  // namespace dt
