#include "launcher/sync/host_connection.h"

#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

namespace dt {
namespace {

/// The process answers each byte with the next letter.
void answer_letters(Fd connection) {
  char letter = 0;
  while (::read(connection.get(), &letter, 1) == 1) {
    ++letter;
    if (!write_all(connection.get(), as_bytes({&letter, 1}))) return;
  }
}

struct Agent {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string received;
  bool ended = false;
  HostConnection connection{*loop,
                            [this](MessageType type, uint32_t stream, ByteSpan payload) {
                              CHECK(stream == sync_stream);
                              if (type == MessageType::relay_bytes) received += as_text(payload);
                              if (type == MessageType::relay_end) ended = true;
                            },
                            answer_letters};
};

TEST_CASE_FIXTURE(Agent, "HostConnection starts the sync process, and relays both ways") {
  CHECK(connection.processes().empty());
  REQUIRE(connection.receive(MessageType::relay_open, {}));
  REQUIRE(connection.processes().size() == 1);
  CHECK(connection.owns(connection.processes().front()));
  CHECK_FALSE(connection.receive(MessageType::relay_open, {}));
  REQUIRE(connection.receive(MessageType::relay_bytes, as_bytes("abc")));
  run_until(*loop, [&] { return received == "bcd"; });
  // The launcher closes the connection.
  REQUIRE(connection.receive(MessageType::relay_end, {}));
  run_until(*loop, [&] { return ended; });
}

TEST_CASE_FIXTURE(Agent, "the launcher learns of the end of a sync process") {
  REQUIRE(connection.receive(MessageType::relay_open, {}));
  ::kill(connection.processes().front(), SIGKILL);
  run_until(*loop, [&] { return ended; });
}

TEST_CASE("is_of_sync() knows the stream and the messages") {
  const auto type = [](MessageType which) { return static_cast<uint8_t>(which); };
  CHECK(is_of_sync({.type = type(MessageType::relay_bytes), .stream = 0}));
  CHECK_FALSE(is_of_sync({.type = type(MessageType::relay_bytes), .stream = 1}));
  CHECK_FALSE(is_of_sync({.type = type(MessageType::heartbeat), .stream = 0}));
}

}  // namespace
}  // namespace dt
