#include "launcher/network/relay_endpoints.h"

#include "base/crypto.h"
#include "base/io/log.h"
#include "rendezvous/secure/handshake.h"
#include "tests/unit/rendezvous/fixture.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace dt {
namespace {

/// A rendezvous of two hosts, and the messages that its ends of the relays send to the agents.
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
  struct Sent {
    size_t agent;
    MessageType type;
    uint32_t stream;
    Bytes payload;
  };
  std::vector<Sent> sent;
  RelayEndpoints relays{
      *loop, *server, plan,
      [this](size_t agent, MessageType type, uint32_t stream, ByteSpan payload) {
        sent.push_back({agent, type, stream, Bytes(payload.begin(), payload.end())});
      }};

  Result<> receive(size_t agent, MessageType type, uint32_t stream, ByteSpan payload = {}) {
    return relays.receive(agent, {.header = {.type = static_cast<uint8_t>(type), .stream = stream},
                                  .payload = payload});
  }
  /// Joins the rendezvous as this task, over a stream of its agent.
  void join(size_t agent, int task, uint32_t stream) {
    REQUIRE(receive(agent, MessageType::relay_open, stream));
    Handshake handshake = Handshake::dial({.token = token,
                                           .job = table.job,
                                           .generation = table.generation,
                                           .self = {"worker", task}},
                                          {std::string(launcher_role), 0})
                              .value();
    while (!handshake.done()) {
      if (const Bytes out = handshake.take_output(); !out.empty()) {
        REQUIRE(receive(agent, MessageType::relay_bytes, stream, out));
      }
      run_until(*loop, [this] { return !sent.empty(); });
      CHECK(sent.front().agent == agent);
      CHECK(sent.front().stream == stream);
      REQUIRE(sent.front().type == MessageType::relay_bytes);
      Bytes bytes = std::move(sent.front().payload);
      sent.erase(sent.begin());
      for (ByteSpan left = bytes; !left.empty() && !handshake.done();)
        left = left.subspan(handshake.receive(left).value());
    }
  }
};

TEST_CASE_FIXTURE(Fixture,
                  "RelayEndpoints: tasks of several agents join, whatever their streams' numbers") {
  join(0, 0, 1);
  join(1, 1, 1);
  CHECK(server->counters().joined == 2);
  CHECK(server->counters().accepted == 2);
}

TEST_CASE_FIXTURE(Fixture, "RelayEndpoints: a lost agent's connections are closed, and no others") {
  join(0, 0, 1);
  join(1, 1, 1);
  relays.drop(0);
  run_until(*loop, [this] { return server->counters().joined == 1; });
  CHECK(receive(0, MessageType::relay_bytes, 1, as_bytes("late")));
  CHECK(receive(0, MessageType::relay_open, 2));
  CHECK(server->counters().accepted == 2);
}

TEST_CASE_FIXTURE(
    Fixture, "RelayEndpoints: a connection without proof is closed, and logged with the host") {
  REQUIRE(receive(1, MessageType::relay_open, 5));
  REQUIRE(receive(1, MessageType::relay_bytes, 5, Bytes(200, std::byte{'G'})));
  run_until(*loop, [this] { return !sent.empty(); });
  CHECK(sent.front().agent == 1);
  CHECK(sent.front().stream == 5);
  CHECK(sent.front().type == MessageType::relay_end);
  CHECK(warned.find("authentication failed from node1 (relayed by its agent): ") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture,
                  "RelayEndpoints: an agent that opens a stream twice is a protocol error") {
  REQUIRE(receive(0, MessageType::relay_open, 1));
  const auto again = receive(0, MessageType::relay_open, 1);
  REQUIRE_FALSE(again);
  CHECK(again.error().code == Errc::protocol);
}

TEST_CASE_FIXTURE(Fixture, "RelayEndpoints: streams beyond the bound are refused one by one") {
  for (uint32_t stream = 1; stream <= relayed_max(1); ++stream)
    REQUIRE(receive(0, MessageType::relay_open, stream));
  sent.clear();
  for (const uint32_t stream : {1000U, 1001U}) {
    REQUIRE(receive(0, MessageType::relay_open, stream));
    CHECK(sent.back().agent == 0);
    CHECK(sent.back().stream == stream);
    CHECK(sent.back().type == MessageType::relay_end);
    REQUIRE(receive(0, MessageType::relay_end, stream));
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "RelayEndpoints: foreign connections that open and close at once end no job") {
  join(0, 0, 1);
  for (uint32_t stream = 2; stream < 2000; ++stream) {
    REQUIRE(receive(0, MessageType::relay_open, stream));
    REQUIRE(receive(0, MessageType::relay_end, stream));
  }
  CHECK(server->counters().joined == 1);
  run_until(*loop, [this] {
    return std::ranges::count(sent, MessageType::relay_end, &Sent::type) == 1998;
  });
  sent.clear();
  join(1, 1, 1);
  CHECK(server->counters().joined == 2);
}

}  // namespace
}  // namespace dt
