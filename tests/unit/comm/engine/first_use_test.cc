// An engine whose links connect when they are first used.
#include "comm/engine/engine.h"
#include "comm/engine/groups.h"
#include "tests/unit/comm/transport/unopened_link.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// One rank of four on four hosts, without connections.
struct Unconnected {
  explicit Unconnected(int rank) {
    std::vector<Engine::Peer> peers(4);
    for (int other = 0; other < 4; ++other) {
      Engine::Peer& peer = peers[static_cast<size_t>(other)];
      peer.task = {.id = {"worker", other}, .rank = other, .agent = other, .host = "h"};
      if (other == rank) continue;
      auto link = std::make_unique<UnopenedLink>();
      links[static_cast<size_t>(other)] = link.get();
      peer.link = std::move(link);
    }
    engine = std::make_unique<Engine>(Engine::Options{.rank = rank}, std::move(peers));
  }
  std::shared_ptr<Operation> submit(OperationKind kind, int peer, Duration timeout = {}) {
    OperationRequest request{.kind = kind,
                             .type = ElementType::int32,
                             .peer = peer,
                             .count = 1,
                             .input = &value,
                             .output = &value,
                             .timeout = timeout};
    if (kind == OperationKind::receive) request.input = nullptr;
    if (kind == OperationKind::send) request.output = nullptr;
    auto operation = engine->submit(std::move(request), now);
    engine->step(now);
    return operation;
  }
  /// The ranks whose links have been asked to connect: "1 3 ".
  std::string asked() const {
    std::string ranks;
    for (size_t rank = 0; rank < links.size(); ++rank)
      if (links[rank] != nullptr && links[rank]->asked) ranks += std::to_string(rank) + " ";
    return ranks;
  }
  void step_at(Time time) {
    now = time;
    engine->step(now);
  }

  int32_t value = 1;
  Time now{seconds(100)};
  std::vector<UnopenedLink*> links = std::vector<UnopenedLink*>(4);
  std::unique_ptr<Engine> engine;
};

TEST_CASE("a send and a receive connect with their peer alone") {
  for (const auto kind : {OperationKind::send, OperationKind::receive}) {
    Unconnected rank(1);
    rank.submit(kind, 3);
    CHECK(rank.asked() == "3 ");
  }
}

TEST_CASE(
    "a collective connects with the ranks to which it sends, and later with those it waits for") {
  Unconnected rank(1);
  rank.submit(OperationKind::all_reduce, 0);
  const std::string first = rank.asked();
  CHECK(first.size() == 2);
  rank.step_at(rank.engine->next_deadline());
  // It has reported to rank 0 that it is late.
  CHECK(rank.links[0]->asked);
  CHECK(rank.asked().size() < 6);
}

TEST_CASE("a rank that fails a collective connects with all, so that each of them ends it") {
  Unconnected rank(1);
  const auto operation = rank.submit(OperationKind::all_reduce, 0, seconds(1));
  rank.step_at(rank.now + seconds(1));
  rank.step_at(rank.now + seconds(1));
  REQUIRE(operation->outcome);
  CHECK(operation->outcome->error().code == Errc::timeout);
  CHECK(rank.asked() == "0 2 3 ");
}

TEST_CASE("a rank that loses the launcher, or leaves a group, connects with nobody") {
  Unconnected lost(1);
  lost.engine->launcher_lost(lost.now);
  lost.engine->step(lost.now);
  CHECK(lost.asked().empty());
  CHECK(lost.engine->idle());

  Unconnected leaves(1);
  const uint32_t group = leaves.engine->groups().next_number();
  leaves.engine->groups().create(group, {0, 1, 2, 3}, leaves.now);
  leaves.engine->leave_group(group);
  leaves.engine->step(leaves.now);
  CHECK(leaves.asked().empty());
  CHECK(leaves.engine->idle());
}

TEST_CASE("a rank that cannot continue connects with all, because its process lives") {
  Unconnected rank(1);
  rank.engine->abort("out of memory");
  rank.engine->step(rank.now);
  CHECK(rank.asked() == "0 2 3 ");
}

}  // namespace
}  // namespace dt
