#include "comm/collective/pending_wait.h"
#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

using Floats = std::vector<float>;
using Hosts = EngineGroup::Hosts;
using Ranks = std::vector<int>;

OperationRequest all_reduce(Floats& values) {
  return {.kind = OperationKind::all_reduce,
          .count = values.size(),
          .input = values.data(),
          .output = values.data()};
}

std::vector<PendingWait> waits_of(const Engine& engine) {
  std::vector<PendingWait> waits;
  engine.add_waits(waits);
  return waits;
}

/// Returns the ranks for which this rank's only pending operation waits.
Ranks awaited(const Engine& engine) {
  const std::vector<PendingWait> waits = waits_of(engine);
  REQUIRE(waits.size() == 1);
  return engine.awaited(*waits.front().operation);
}

TEST_CASE("ranks in shared memory wait for exactly the ranks that have not made the call") {
  EngineGroup group(4, seconds(5), Hosts::one);
  group.submit(0, {.kind = OperationKind::barrier});
  group.submit(2, {.kind = OperationKind::barrier});
  group.settle();
  CHECK(awaited(group[0]) == Ranks{1, 3});
  CHECK(awaited(group[2]) == Ranks{1, 3});
  CHECK(waits_of(group[1]).empty());
  group.submit(1, {.kind = OperationKind::barrier});
  group.settle();
  CHECK(awaited(group[0]) == Ranks{3});
}

TEST_CASE("over links, the ranks that a missing rank keeps waiting lead to it") {
  for (const size_t count : {size_t{1}, size_t{50'000}}) {
    EngineGroup group(4);
    std::vector<Floats> values(4, Floats(count));
    for (const int rank : {0, 1, 3})
      group.submit(rank, all_reduce(values[static_cast<size_t>(rank)]));
    group.settle();
    bool leads = false;
    for (const int rank : {0, 1, 3}) {
      CAPTURE(rank);
      const Ranks ranks = awaited(group[rank]);
      REQUIRE(ranks.size() == 1);
      CHECK(ranks.front() != rank);
      leads |= ranks.front() == 2;
    }
    CHECK(leads);
  }
}

TEST_CASE("in an agreement, rank 0 waits for the missing ranks, and the others for rank 0") {
  EngineGroup group(3);
  std::vector<Floats> values(3, Floats(1));
  const auto broadcast = [&](int rank) {
    return OperationRequest{.kind = OperationKind::broadcast,
                            .count = 1,
                            .input = values[static_cast<size_t>(rank)].data(),
                            .output = values[static_cast<size_t>(rank)].data()};
  };
  group.submit(0, broadcast(0));
  group.submit(2, broadcast(2));
  group.settle();
  CHECK(awaited(group[0]) == Ranks{1});
  CHECK(awaited(group[2]) == Ranks{0});
}

TEST_CASE("a member of a group waits for ranks of the job") {
  EngineGroup group(4);
  for (const int rank : {1, 3})
    group[rank].groups().create(1, {1, 3}, group.now);
  group.submit(1, {.kind = OperationKind::barrier, .group = 1});
  group.settle();
  CHECK(awaited(group[1]) == Ranks{3});
  CHECK(waits_of(group[3]).empty());
}

TEST_CASE("a wait has the last collective of its group before it") {
  EngineGroup group(2);
  std::vector<Floats> values(2, Floats(1));
  const auto last = [&] { return group[0].last_before(*waits_of(group[0]).front().operation); };
  group.submit(0, {.kind = OperationKind::barrier});
  CHECK(last() == "");
  group.submit(1, {.kind = OperationKind::barrier});
  group.settle();
  group.submit(0, {.kind = OperationKind::barrier});
  CHECK(last() == "barrier #1");
  group.submit(1, {.kind = OperationKind::barrier});
  group.settle();
  for (int rank = 0; rank < 2; ++rank) {
    OperationRequest request = all_reduce(values[static_cast<size_t>(rank)]);
    request.name = "g";
    request.in_sequence = true;
    group.submit(rank, request);
  }
  group.settle();
  group.submit(0, {.kind = OperationKind::barrier});
  CHECK(last() == "all_reduce #3 \"g\"");
}

TEST_CASE("a wait's progress changes when data moves, and only then") {
  for (const Hosts hosts : {Hosts::one, Hosts::several}) {
    EngineGroup group(3, seconds(5), hosts);
    std::vector<Floats> values(3, Floats(2'000'000));
    group.submit(0, all_reduce(values[0]));
    group.settle();
    const auto progress = [&] { return waits_of(group[0]).front().progress; };
    const uint64_t alone = progress();
    group.settle();
    CHECK(progress() == alone);
    group.submit(1, all_reduce(values[1]));
    const auto last = group.submit(2, all_reduce(values[2]));
    uint64_t before = alone;
    int changes = 0;
    while (pending(last)) {
      for (int rank = 0; rank < 3; ++rank)
        group[rank].step(group.now);
      if (waits_of(group[0]).empty()) break;
      changes += progress() != before ? 1 : 0;
      before = progress();
    }
    CHECK(changes > 3);
  }
}

TEST_CASE("a send and a receive that have no partner wait for their peer") {
  EngineGroup group(3);
  Floats value(1);
  group.submit(0, {.kind = OperationKind::send, .peer = 2, .count = 1, .input = value.data()});
  group.submit(1, {.kind = OperationKind::receive, .peer = 2, .count = 1, .output = value.data()});
  group.settle();
  CHECK(awaited(group[0]) == Ranks{2});
  CHECK(awaited(group[1]) == Ranks{2});
  CHECK(waits_of(group[2]).empty());
  CHECK(group[0].last_before(*waits_of(group[0]).front().operation).empty());
}

TEST_CASE("a message that is sent slowly makes progress on both sides") {
  EngineGroup group(2);
  Floats values(3'000'000);
  Floats received(values.size());
  group.submit(
      0, {.kind = OperationKind::send, .peer = 1, .count = values.size(), .input = values.data()});
  const auto last = group.submit(1, {.kind = OperationKind::receive,
                                     .peer = 0,
                                     .count = received.size(),
                                     .output = received.data()});
  std::vector<uint64_t> seen(2);
  std::vector<int> changes(2);
  while (pending(last)) {
    for (int rank = 0; rank < 2; ++rank) {
      group[rank].step(group.now);
      const std::vector<PendingWait> waits = waits_of(group[rank]);
      if (waits.empty() || waits.front().progress == seen[static_cast<size_t>(rank)]) continue;
      seen[static_cast<size_t>(rank)] = waits.front().progress;
      ++changes[static_cast<size_t>(rank)];
    }
  }
  CHECK(changes[0] >= 2);
  CHECK(changes[1] >= 2);
}

/// Three ranks of which rank 0 makes another call. Its messages do not reach rank 2 yet, and rank 1
/// has learned of the difference and left.
struct LeftWithVerdict {
  LeftWithVerdict() {
    group.pipe(0, 2).capacity = 0;
    for (const int rank : {0, 1, 2}) {
      const char* name = rank == 0 ? "b" : "a";
      operations.push_back(
          group.submit(rank, {.kind = OperationKind::barrier, .name = name, .in_sequence = true}));
    }
    group.settle();
    group.pass(milliseconds(200));  // after which rank 2 reports its call to rank 0
    REQUIRE(failure_code(operations[1]) == Errc::mismatch);
    group.stopped[1] = true;
    group.pipe(1, 2).closed = true;
    group.pipe(2, 1).closed = true;
    group.notify(2, Notice::Kind::left, 1);
    group.settle();
    REQUIRE(pending(operations[2]));
  }

  EngineGroup group{3};
  std::vector<std::shared_ptr<Operation>> operations;
};

TEST_CASE("a verdict that is under way counts more than a rank that left with it") {
  LeftWithVerdict world;
  world.group.pipe(0, 2).capacity = 1000;
  world.group.settle();
  CHECK(failure(world.operations[2]) == failure(world.operations[0]));
  CHECK(failure_code(world.operations[2]) == Errc::mismatch);
}

TEST_CASE("a rank that left is blamed a quarter of a second later when no verdict comes") {
  LeftWithVerdict world;
  world.group.pass(milliseconds(249));
  CHECK(pending(world.operations[2]));
  world.group.pass(milliseconds(1));
  CHECK(failure(world.operations[2]) == "barrier #1 \"a\": rank 1 (host n1) has left the job");
}

TEST_CASE("a rank whose verdict was lost with the link to rank 0 fails") {
  EngineGroup group(4);
  group.pipe(0, 3).capacity = 0;
  std::vector<std::shared_ptr<Operation>> operations;
  for (const int rank : {0, 1, 2, 3}) {
    const char* name = rank == 1 ? "b" : "a";
    operations.push_back(
        group.submit(rank, {.kind = OperationKind::barrier, .name = name, .in_sequence = true}));
  }
  group.settle();
  group.pass(milliseconds(200));
  REQUIRE(failure_code(operations[2]) == Errc::mismatch);
  REQUIRE(pending(operations[3]));
  group.pipe(0, 3).closed = true;
  group.pipe(3, 0).closed = true;
  group.settle();
  group.pass(seconds(5));
  CHECK(failure(operations[3]) == "barrier #1 \"a\": connection to rank 0 (host n0) lost");
}

}  // namespace
}  // namespace dt
