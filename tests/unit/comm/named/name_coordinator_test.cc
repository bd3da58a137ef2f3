#include "base/format.h"
#include "tests/unit/comm/named/coordinator_calls.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a call is decided when all ranks have made it") {
  NameCoordinator names = coordinator(2);
  REQUIRE(names.add(0, call("a"), start));
  CHECK(names.decide().empty());
  CHECK(names.missing(hash_of_name("a")) == std::vector<int>{1});
  CHECK(names.waits_for(1));
  CHECK(!names.waits_for(0));
  REQUIRE(names.add(1, call("a"), start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].names == Names{hash_of_name("a")});
  CHECK(!decisions[0].failure);
  CHECK(names.empty());
  CHECK(names.decide().empty());
}

TEST_CASE("small all_reduces that are complete together share buckets up to their size") {
  NameCoordinator names = coordinator(1);
  NameArrival big = call("big", 101);
  NameArrival odd = call("odd");
  odd.descriptor.reduce = ReduceOp::max;
  NameArrival gather = call("gather");
  gather.descriptor.kind = OperationKind::all_gather;
  for (const NameArrival& each :
       {call("a", 100), big, call("b", 100), odd, call("c", 100), gather, call("d", 10)})
    REQUIRE(names.add(0, each, start));
  const auto decisions = names.decide();
  const auto has = [&](size_t i, const std::vector<std::string>& wanted) {
    Names hashes;
    for (const std::string& name : wanted)
      hashes.push_back(hash_of_name(name));
    return decisions.at(i).names == hashes;
  };
  REQUIRE(decisions.size() == 5);
  CHECK(has(0, {"a", "b", "d"}));
  CHECK(has(1, {"big"}));
  CHECK(has(2, {"odd"}));
  CHECK(has(3, {"c"}));
  CHECK(has(4, {"gather"}));
}

TEST_CASE("a second announcement of an undecided name is refused") {
  NameCoordinator names = coordinator(2);
  REQUIRE(names.add(1, call("a"), start));
  CHECK(!names.add(1, call("a"), start));
}

TEST_CASE("calls that differ fail with the job's rank that differs") {
  NameCoordinator names = coordinator(3);
  REQUIRE(names.add(0, call("a"), start));
  REQUIRE(names.add(2, call("a"), start));
  REQUIRE(names.add(1, call("a", 5), start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].failure->code == Errc::mismatch);
  CHECK(decisions[0].failure->blamed_rank == 2);
  CHECK(decisions[0].failure->reason ==
        "all_reduce \"a\": rank 2 sent float32[5], others float32[4]");
}

TEST_CASE("the time limit that ends first is the one of a call") {
  NameCoordinator names = coordinator(3);
  NameArrival soon = call("a");
  soon.timeout = seconds(5);
  soon.remaining = seconds(1);
  NameArrival late = call("a");
  late.timeout = late.remaining = seconds(4);
  REQUIRE(names.add(0, late, start));
  CHECK(names.next_deadline() == start + seconds(4));
  REQUIRE(names.add(1, soon, start));
  CHECK(names.next_deadline() == start + seconds(1));
  CHECK(!names.overdue(start + milliseconds(999)));
  const auto overdue = names.overdue(start + seconds(1));
  CHECK(overdue->timeout == seconds(5));
  CHECK(overdue->missing == std::vector<int>{2});
  REQUIRE(names.add(2, call("a"), start));
  CHECK(names.next_deadline() == Time::max());
}

TEST_CASE("ranks that all block in different names for a second get a mismatch") {
  NameCoordinator names = coordinator(2);
  NameArrival a = call("a");
  NameArrival b = call("b");
  a.blocks = b.blocks = true;
  REQUIRE(names.add(0, a, start));
  REQUIRE(names.add(1, b, start));
  CHECK(names.deadlock(start + milliseconds(999)).empty());
  CHECK(names.next_deadline() == start + seconds(1));
  const auto deadlock = names.deadlock(start + seconds(1));
  REQUIRE(deadlock.size() == 1);
  CHECK(deadlock[0].names.size() == 2);
  CHECK(deadlock[0].failure->reason ==
        "all_reduce \"a\": rank 2 gave the name \"b\", rank 0 the name \"a\"");
  CHECK(names.empty());
}

TEST_CASE("another call in the meantime is a reason to wait again") {
  NameCoordinator names = coordinator(2);
  NameArrival a = call("a");
  NameArrival b = call("b");
  a.blocks = b.blocks = true;
  REQUIRE(names.add(0, a, start));
  REQUIRE(names.add(1, b, start));
  REQUIRE(names.add(1, call("c"), start + milliseconds(500)));
  CHECK(names.deadlock(start + seconds(1)).empty());
  REQUIRE(names.add(0, b, start + milliseconds(600)));
  CHECK(names.decide().size() == 1);
  CHECK(names.next_deadline() == Time::max());
}

TEST_CASE("a call is complete without the ranks that have joined") {
  NameCoordinator names = coordinator(3);
  REQUIRE(names.add(0, call("before"), start));
  REQUIRE(names.add(1, call("before"), start));
  REQUIRE(names.add(2, join_call(), start));
  REQUIRE(names.add(0, call("after"), start));
  CHECK(names.missing(hash_of_name("after")) == std::vector<int>{1});
  CHECK(!names.waits_for(2));
  REQUIRE(names.add(1, call("after"), start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].names == Names{hash_of_name("before"), hash_of_name("after")});
  REQUIRE(decisions[0].for_joined.size() == 2);
  CHECK(decisions[0].for_joined[1].name_hash == hash_of_name("after"));
  CHECK(decisions[0].for_joined[1].name.empty());
  CHECK(decisions[0].for_joined[1].count == 4);
}

TEST_CASE("a rank that has announced a call before it joined contributes to it itself") {
  NameCoordinator names = coordinator(2);
  REQUIRE(names.add(1, call("a"), start));
  REQUIRE(names.add(1, join_call(), start));
  REQUIRE(names.add(0, call("a"), start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].for_joined.empty());
}

TEST_CASE("the last to join ends the joins, after the calls before them") {
  NameCoordinator names = coordinator(3);
  for (const int rank : {1, 0})
    REQUIRE(names.add(rank, join_call(), start));
  CHECK(names.decide().empty());
  REQUIRE(names.add(2, call("a"), start));
  REQUIRE(names.add(2, join_call(), start));
  CHECK(!names.empty());
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 2);
  CHECK(decisions[0].for_joined.size() == 1);
  CHECK(decisions[1].names == Names{join_hash()});
  CHECK(decisions[1].last_joined == 2);
  CHECK(names.empty());
  // The next round begins without joins.
  REQUIRE(names.add(0, call("a"), start));
  CHECK(names.decide().empty());
}

TEST_CASE("what is no reduction fails, and the ranks that have joined are named") {
  NameCoordinator names = coordinator(3);
  NameArrival gather = call("g");
  gather.descriptor.kind = OperationKind::all_gather;
  REQUIRE(names.add(0, gather, start));
  REQUIRE(names.add(1, join_call(), start));
  CHECK(names.decide().empty());
  REQUIRE(names.add(2, join_call(), start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].failure->code == Errc::mismatch);
  CHECK(decisions[0].failure->blamed_rank == 2);
  CHECK(
      decisions[0].failure->reason ==
      "all_gather \"g\": ranks 2, 4 have joined, and all_gather is impossible without data of all "
      "ranks");
}

TEST_CASE("a mismatch among the active ranks does not name those that have joined") {
  NameCoordinator names = coordinator(4);
  REQUIRE(names.add(0, join_call(), start));
  REQUIRE(names.add(1, call("a"), start));
  REQUIRE(names.add(3, call("a"), start));
  REQUIRE(names.add(2, call("a", 5), start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].failure->reason ==
        "all_reduce \"a\": rank 4 sent float32[5], others float32[4]");
}

TEST_CASE("averages over the active ranks are fused where they have the same number of ranks") {
  NameCoordinator names = coordinator(3);
  const auto mean = [](const std::string& name, bool active) {
    NameArrival arrival = call(name);
    arrival.descriptor.reduce = ReduceOp::average;
    arrival.descriptor.terms.average_active = active;
    return arrival;
  };
  REQUIRE(names.add(2, mean("full", true), start));
  REQUIRE(names.add(2, join_call(), start));
  for (const auto& [name, active] :
       {std::pair("a", true), std::pair("all", false), std::pair("b", true)})
    for (const int rank : {0, 1})
      REQUIRE(names.add(rank, mean(name, active), start));
  for (const int rank : {0, 1})
    REQUIRE(names.add(rank, mean("full", true), start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 2);
  CHECK(decisions[0].average_over == 2);
  CHECK(decisions[0].names == Names{hash_of_name("a"), hash_of_name("b")});
  CHECK(decisions[1].average_over == 0);
  CHECK(decisions[1].names == Names{hash_of_name("all"), hash_of_name("full")});
}

TEST_CASE("calls are fused whatever their scales") {
  NameCoordinator names = coordinator(1);
  NameArrival scaled = call("scaled");
  scaled.descriptor.terms.prescale = 0.5;
  scaled.descriptor.terms.postscale = 4;
  for (const NameArrival& each : {call("plain"), scaled})
    REQUIRE(names.add(0, each, start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].names == Names{hash_of_name("plain"), hash_of_name("scaled")});
}

TEST_CASE("calls are fused where they have the same compression") {
  NameCoordinator names = coordinator(2);
  for (const auto& [name, compression] :
       {std::pair("a", Compression::float16), std::pair("b", Compression::none),
        std::pair("c", Compression::float16), std::pair("d", Compression::bfloat16)}) {
    NameArrival arrival = call(name);
    arrival.descriptor.terms.compression = compression;
    for (const int rank : {0, 1})
      REQUIRE(names.add(rank, arrival, start));
  }
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 3);
  CHECK(decisions[0].names == Names{hash_of_name("a"), hash_of_name("c")});
}

TEST_CASE("a rank that has joined makes no call that the others wait for") {
  NameCoordinator names = coordinator(3);
  NameArrival a = call("a");
  NameArrival b = call("b");
  a.blocks = b.blocks = true;
  REQUIRE(names.add(0, join_call(), start));
  REQUIRE(names.add(1, a, start));
  REQUIRE(names.add(2, b, start));
  const auto decisions = names.deadlock(start + seconds(1));
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].names.size() == 2);
  CHECK(!names.add(0, call("c"), start));
  // The join is still pending.
  REQUIRE(names.add(1, join_call(), start));
  REQUIRE(names.add(2, join_call(), start));
  CHECK(names.decide().back().last_joined == 2);
}

TEST_CASE("all calls of ranks that block in many fail with one text") {
  NameCoordinator names = coordinator(2);
  for (size_t i = 0; i < names_per_decision_max; ++i) {
    NameArrival a = call(format("a{}", i));
    a.blocks = true;
    REQUIRE(names.add(0, a, start));
  }
  NameArrival b = call("b");
  b.blocks = true;
  REQUIRE(names.add(1, b, start));
  const auto decisions = names.deadlock(start + seconds(1));
  REQUIRE(decisions.size() == 2);
  CHECK(decisions[0].names.size() == names_per_decision_max);
  CHECK(decisions[1].names.size() == 1);
  CHECK(decisions[0].failure->reason == decisions[1].failure->reason);
  CHECK(names.empty());
  CHECK(names.next_deadline() == Time::max());
}

TEST_CASE("calls that are complete at once are run by their priority on rank 0") {
  NameCoordinator names = coordinator(2);
  const auto add = [&](int rank, const std::string& name, int priority) {
    NameArrival arrival = call(name, 101);  // too large for a bucket with others
    arrival.priority = priority;
    REQUIRE(names.add(rank, arrival, start));
  };
  for (const auto& [name, priority] :
       {std::pair("low", -1), std::pair("first", 5), std::pair("none", 0), std::pair("also", 5)}) {
    add(1, name, -priority);
    add(0, name, priority);
  }
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 4);
  CHECK(decisions[0].names == Names{hash_of_name("first")});
  CHECK(decisions[1].names == Names{hash_of_name("also")});
  CHECK(decisions[2].names == Names{hash_of_name("none")});
  CHECK(decisions[3].names == Names{hash_of_name("low")});
}

TEST_CASE("a bucket takes the calls with the highest priorities first") {
  NameCoordinator names = coordinator(1);
  for (const auto& [name, priority] : {std::pair("a", 1), std::pair("b", 3), std::pair("c", 2)}) {
    NameArrival arrival = call(name, 100);
    arrival.priority = priority;
    REQUIRE(names.add(0, arrival, start));
  }
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 2);
  CHECK(decisions[0].names == Names{hash_of_name("b"), hash_of_name("c")});
  CHECK(decisions[1].names == Names{hash_of_name("a")});
}

/// A part of a list of two.
NameArrival part(const std::string& name, uint64_t list, size_t count = 4) {
  NameArrival arrival = call(name, count);
  arrival.part_of = {.list = list, .parts = 2};
  return arrival;
}

TEST_CASE("no part of a list is run before all ranks have made every part") {
  NameCoordinator names = coordinator(2);
  for (const auto& arrival : {part("a", 7), part("b", 7)})
    REQUIRE(names.add(0, arrival, start));
  REQUIRE(names.add(1, part("a", 7), start));
  REQUIRE(names.add(0, call("alone"), start));
  REQUIRE(names.add(1, call("alone"), start));
  const auto alone = names.decide();
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].names == Names{hash_of_name("alone")});
  CHECK_FALSE(names.empty());
  REQUIRE(names.add(1, part("b", 7), start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].names == Names{hash_of_name("a"), hash_of_name("b")});
  CHECK(names.empty());
  CHECK(names.entries() == 0);
}

TEST_CASE("if a part of a list differs, all of its parts fail for this reason") {
  NameCoordinator names = coordinator(2);
  for (const int rank : {0, 1}) {
    REQUIRE(names.add(rank, part("a", 7), start));
    REQUIRE(names.add(rank, part("b", 7, rank == 0 ? 4 : 5), start));
  }
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 2);
  for (const NameDecision& decision : decisions) {
    REQUIRE(decision.failure);
    CHECK(decision.failure->reason ==
          "all_reduce \"b\": rank 2 sent float32[5], rank 0 float32[4]");
  }
  CHECK(names.entries() == 0);
}

TEST_CASE("when all ranks block, the parts of a list that all have made fail, too") {
  NameCoordinator names = coordinator(2);
  NameArrival blocks = part("b", 7);
  blocks.blocks = true;
  REQUIRE(names.add(0, part("a", 7), start));
  REQUIRE(names.add(0, blocks, start));
  REQUIRE(names.add(1, part("a", 7), start));
  NameArrival other = call("c");
  other.blocks = true;
  REQUIRE(names.add(1, other, start));
  CHECK(names.decide().empty());
  const auto decisions = names.deadlock(start + seconds(1));
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].failure.has_value());
  CHECK(decisions[0].names.size() == 3);
  CHECK(names.entries() == 0);
}

}  // namespace
}  // namespace dt
