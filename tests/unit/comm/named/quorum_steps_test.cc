#include "comm/named/quorum_steps.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

constexpr Time start = Time(seconds(10));
using Ranks = std::vector<bool>;

NameArrival part(uint64_t name, Quorum quorum, uint32_t parts = 1, uint64_t list = 5) {
  NameArrival arrival;
  arrival.descriptor = {.kind = OperationKind::all_reduce, .name_hash = name};
  arrival.descriptor.terms.quorum = quorum;
  arrival.part_of = {.list = list, .parts = parts};
  return arrival;
}

/// Counts to which all ranks have contributed once.
QuorumSteps met(size_t ranks, const NameArrival& arrival) {
  QuorumSteps steps(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    CHECK(steps.decide(start, {}).empty());
    CHECK(steps.add(static_cast<int>(rank), arrival, start));
  }
  CHECK(steps.decide(start, {}).size() == 1);
  return steps;
}

TEST_CASE("the first step waits for all ranks, and later ones for the quorum") {
  const NameArrival arrival = part(1, {.ranks = 2});
  QuorumSteps steps = met(3, arrival);
  CHECK(steps.add(2, arrival, start));
  CHECK(steps.decide(start + seconds(100), {}).empty());
  CHECK(steps.add(0, arrival, start));
  const auto decided = steps.decide(start, {});
  REQUIRE(decided.size() == 1);
  CHECK(decided[0].names == std::vector<uint64_t>{1});
  CHECK(decided[0].participants == Ranks{true, false, true});
}

TEST_CASE("a rank that is behind holds up the next step, and its late call does not count for it") {
  const NameArrival arrival = part(1, {.ranks = 2});
  QuorumSteps steps = met(3, arrival);
  for (const int rank : {0, 1})
    CHECK(steps.add(rank, arrival, start));
  CHECK(steps.decide(start, {}).size() == 1);
  CHECK(steps.entries() == 1);
  for (const int rank : {0, 1})
    CHECK(steps.add(rank, arrival, start));
  CHECK(steps.decide(start, {}).empty());
  CHECK_FALSE(steps.add(2, arrival, start));
  CHECK(steps.decide(start, {}).size() == 1);
  CHECK_FALSE(steps.add(2, arrival, start));
  CHECK(steps.entries() == 0);
  CHECK(steps.add(2, arrival, start));
}

TEST_CASE("a rank may be behind by the given number of steps") {
  const NameArrival arrival = part(1, {.ranks = 1, .behind_max = 3});
  QuorumSteps steps = met(2, arrival);
  for (int step = 0; step < 3; ++step) {
    CHECK(steps.add(0, arrival, start));
    CHECK(steps.decide(start, {}).size() == 1);
  }
  CHECK(steps.add(0, arrival, start));
  CHECK(steps.decide(start, {}).empty());
  CHECK_FALSE(steps.add(1, arrival, start));
  CHECK(steps.decide(start, {}).size() == 1);
}

TEST_CASE("at the deadline those that are there are enough") {
  const NameArrival arrival = part(1, {.ranks = 3, .deadline_ms = 20});
  QuorumSteps steps = met(3, arrival);
  CHECK(steps.next_deadline() == Time::max());
  CHECK(steps.add(1, arrival, start));
  CHECK(steps.next_deadline() == start + milliseconds(20));
  CHECK(steps.decide(start + milliseconds(19), {}).empty());
  const auto decided = steps.decide(start + milliseconds(20), {});
  REQUIRE(decided.size() == 1);
  CHECK(decided[0].participants == Ranks{false, true, false});
}

TEST_CASE("a deadline that has passed wakes nobody while a rank is too far behind") {
  const NameArrival arrival = part(1, {.ranks = 1, .deadline_ms = 20});
  QuorumSteps steps = met(2, arrival);
  CHECK(steps.add(0, arrival, start));
  CHECK(steps.decide(start, {}).size() == 1);
  CHECK(steps.add(0, arrival, start));
  CHECK(steps.decide(start + milliseconds(20), {}).empty());
  CHECK(steps.next_deadline() == Time::max());
  CHECK_FALSE(steps.add(1, arrival, start));
  CHECK(steps.decide(start + milliseconds(30), {}).size() == 1);
}

TEST_CASE("a rank contributes with all parts of a list, or is late with all of them") {
  QuorumSteps steps(2);
  const Quorum quorum{.ranks = 1};
  for (const int rank : {0, 1})
    for (const uint64_t name : {1, 2})
      CHECK(steps.add(rank, part(name, quorum, 2), start));
  CHECK(steps.decide(start, {}).size() == 1);
  CHECK(steps.add(1, part(2, quorum, 2), start));
  CHECK(steps.decide(start, {}).empty());
  for (const uint64_t name : {1, 2})
    CHECK(steps.add(0, part(name, quorum, 2), start));
  const auto decided = steps.decide(start, {});
  REQUIRE(decided.size() == 1);
  CHECK(decided[0].names == std::vector<uint64_t>{2, 1});
  CHECK(decided[0].participants == Ranks{true, false});
  CHECK_FALSE(steps.add(1, part(1, quorum, 2), start));
  CHECK(steps.add(1, part(1, quorum, 2), start));
}

TEST_CASE("ranks that have joined are neither waited for nor behind") {
  const NameArrival arrival = part(1, {.ranks = 3});
  QuorumSteps steps = met(3, arrival);
  const std::vector<int> joined = {1};
  for (const int rank : {0, 2})
    CHECK(steps.add(rank, arrival, start));
  const auto decided = steps.decide(start, joined);
  REQUIRE(decided.size() == 1);
  CHECK(decided[0].participants == Ranks{true, false, true});
  CHECK(steps.entries() == 0);
}

TEST_CASE("lists that no rank is in are forgotten when there are many") {
  QuorumSteps steps(1);
  for (uint64_t list = 1; list <= 2 * QuorumSteps::lists_max; ++list) {
    CHECK(steps.add(0, part(1, {.ranks = 1}, 1, list), start));
    CHECK(steps.decide(start, {}).size() == 1);
  }
  CHECK(steps.entries() == 0);
}

}  // namespace
}  // namespace dt
