#include "launcher/network/relay_endpoints.h"

#include "base/crypto.h"
#include "base/io/log.h"
#include "rendezvous/secure/handshake.h"
#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace dt {
namespace {

/// A rendezvous of two hosts, and what its ends of the relays say to their agents.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string warned;
  Log log{Log::Level::normal, [this](std::string_view line) { warned += line; }};
  Token token = Token::random().value();
  TaskTable table = table_of_workers(2);
  std::unique_ptr<RendezvousServer> server =
      RendezvousServer::listen(*loop, {.token = token, .table = table}, log).value();
  Plan plan =
      make_plan({.hosts = {{.name = "node0", .slots = 1}, {.name = "node1", .slots = 1}}}).value();
  struct Said {
    size_t agent;
    MessageType type;
    uint32_t stream;
    Bytes payload;
  };
  std::vector<Said> said;
  RelayEndpoints relays{
      *loop, *server, plan,
      [this](size_t agent, MessageType type, uint32_t stream, ByteSpan payload) {
        said.push_back({agent, type, stream, Bytes(payload.begin(), payload.end())});
      }};

  Result<> tell(size_t agent, MessageType type, uint32_t stream, ByteSpan payload = {}) {
    return relays.receive(agent, {.header = {.type = static_cast<uint8_t>(type), .stream = stream},
                                  .payload = payload});
  }
  void run_until(const std::function<bool()>& done) {
    const Time deadline = soon();
    while (!done() && Clock::now() < deadline)
      REQUIRE(loop->run_once(Clock::now() + milliseconds(5)));
    REQUIRE(done());
  }
  /// The task joins over this stream of its agent.
  void join(size_t agent, int task, uint32_t stream) {
    REQUIRE(tell(agent, MessageType::relay_open, stream));
    Handshake handshake = Handshake::dial({.token = token,
                                           .job = table.job,
                                           .generation = table.generation,
                                           .self = {"worker", task}},
                                          {std::string(launcher_role), 0})
                              .value();
    while (!handshake.done()) {
      if (const Bytes out = handshake.take_output(); !out.empty()) {
        REQUIRE(tell(agent, MessageType::relay_bytes, stream, out));
      }
      run_until([this] { return !said.empty(); });
      CHECK(said.front().agent == agent);
      CHECK(said.front().stream == stream);
      REQUIRE(said.front().type == MessageType::relay_bytes);
      Bytes bytes = std::move(said.front().payload);
      said.erase(said.begin());
      for (ByteSpan left = bytes; !left.empty() && !handshake.done();)
        left = left.subspan(handshake.receive(left).value());
    }
  }
};

TEST_CASE_FIXTURE(Fixture,
                  "Relays: tasks of several agents join, whatever their streams' numbers") {
  join(0, 0, 1);
  join(1, 1, 1);
  CHECK(server->counters().joined == 2);
  CHECK(server->counters().accepted == 2);
}

TEST_CASE_FIXTURE(Fixture, "Relays: with an agent all that it carried is gone, and no more") {
  join(0, 0, 1);
  join(1, 1, 1);
  relays.drop(0);
  run_until([this] { return server->counters().joined == 1; });
  CHECK(tell(0, MessageType::relay_bytes, 1, as_bytes("late")));
  CHECK(tell(0, MessageType::relay_open, 2));
  CHECK(server->counters().accepted == 2);
}

TEST_CASE_FIXTURE(Fixture, "Relays: who proves nothing is closed, and told with the host's name") {
  REQUIRE(tell(1, MessageType::relay_open, 5));
  REQUIRE(tell(1, MessageType::relay_bytes, 5, Bytes(200, std::byte{'G'})));
  run_until([this] { return !said.empty(); });
  CHECK(said.front().agent == 1);
  CHECK(said.front().stream == 5);
  CHECK(said.front().type == MessageType::relay_end);
  CHECK(warned.find("authentication failed from node1 (relayed by its agent): ") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "Relays: an agent that breaks the rules is told so") {
  REQUIRE(tell(0, MessageType::relay_open, 1));
  const auto again = tell(0, MessageType::relay_open, 1);
  REQUIRE_FALSE(again);
  CHECK(again.error().code == Errc::protocol);
}

TEST_CASE_FIXTURE(Fixture, "Relays: streams beyond the bound are refused one by one") {
  for (uint32_t stream = 1; stream <= relayed_max(1); ++stream)
    REQUIRE(tell(0, MessageType::relay_open, stream));
  said.clear();
  for (const uint32_t stream : {1000U, 1001U}) {
    REQUIRE(tell(0, MessageType::relay_open, stream));
    CHECK(said.back().agent == 0);
    CHECK(said.back().stream == stream);
    CHECK(said.back().type == MessageType::relay_end);
    REQUIRE(tell(0, MessageType::relay_end, stream));
  }
}

TEST_CASE_FIXTURE(Fixture, "Relays: strangers that come and go within a round end no job") {
  join(0, 0, 1);
  for (uint32_t stream = 2; stream < 2000; ++stream) {
    REQUIRE(tell(0, MessageType::relay_open, stream));
    REQUIRE(tell(0, MessageType::relay_end, stream));
  }
  CHECK(server->counters().joined == 1);
  run_until(
      [this] { return std::ranges::count(said, MessageType::relay_end, &Said::type) == 1998; });
  said.clear();
  join(1, 1, 1);
  CHECK(server->counters().joined == 2);
}

}  // namespace
}  // namespace dt
