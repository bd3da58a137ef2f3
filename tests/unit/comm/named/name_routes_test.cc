// The routes of calls by name that move no data.
#include "tests/unit/comm/named/coordinator_calls.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

NameArrival wishing(NameArrival arrival, DeviceRoute wish) {
  arrival.wish = wish;
  return arrival;
}

TEST_CASE("calls that move no data get the least route, and share buckets with those of the same") {
  NameCoordinator names = coordinator(2);
  constexpr auto nccl = DeviceRoute::nccl;
  for (const int rank : {0, 1}) {
    REQUIRE(names.add(rank, wishing(call("a"), nccl), start));
    REQUIRE(names.add(rank, call("on host"), start));
    REQUIRE(
        names.add(rank, wishing(call("late"), rank == 0 ? DeviceRoute::undecided : nccl), start));
    REQUIRE(names.add(rank, wishing(call("later"), rank == 1 ? DeviceRoute::staged : nccl), start));
    REQUIRE(names.add(rank, wishing(call("b"), nccl), start));
  }
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 4);
  CHECK(decisions[0].names == Names{hash_of_name("a"), hash_of_name("b")});
  CHECK(decisions[0].route == nccl);
  CHECK_FALSE(decisions[1].route.has_value());
  CHECK(decisions[2].route == DeviceRoute::undecided);
  CHECK(decisions[3].route == DeviceRoute::staged);
}

TEST_CASE("NCCL runs a call that is behind the same calls on all ranks") {
  NameCoordinator names = coordinator(3);
  for (const int rank : {0, 1, 2}) {
    for (const char* const name : {"same", "differs"}) {
      NameArrival arrival = wishing(call(name), DeviceRoute::nccl);
      arrival.before = std::string_view(name) == "differs" && rank == 1 ? 8 : 7;
      REQUIRE(names.add(rank, arrival, start));
    }
  }
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 2);
  CHECK(decisions[0].names == Names{hash_of_name("same")});
  CHECK(decisions[0].route == DeviceRoute::nccl);
  CHECK(decisions[1].route == DeviceRoute::undecided);
}

TEST_CASE("calls that move no data are staged without ranks that have joined") {
  NameCoordinator names = coordinator(2);
  REQUIRE(names.add(0, wishing(call("a"), DeviceRoute::nccl), start));
  NameArrival failed = wishing(call("b"), DeviceRoute::failed);
  REQUIRE(names.add(0, failed, start));
  REQUIRE(names.add(1, join_call(), start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 2);
  for (const NameDecision& decision : decisions) {
    // They are announced again, as calls that move data.
    CHECK(decision.for_joined.empty());
    const bool first = decision.names == Names{hash_of_name("a")};
    CHECK(decision.route == (first ? DeviceRoute::staged : DeviceRoute::failed));
  }
}

TEST_CASE("a join ends behind the data of calls that the ranks have agreed to stage") {
  NameCoordinator names = coordinator(2);
  // Each rank makes a call, and joins. So each call is complete by the other rank's join.
  for (const int rank : {0, 1}) {
    const char* const own = rank == 0 ? "a" : "b";
    REQUIRE(names.add(rank, wishing(call(own), DeviceRoute::nccl), start));
    REQUIRE(names.add(rank, join_call(), start));
  }
  auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].names == Names{hash_of_name("b"), hash_of_name("a")});
  CHECK(decisions[0].route == DeviceRoute::staged);
  CHECK_FALSE(names.empty());
  CHECK(names.missing(hash_of_name("a")).empty());
  CHECK_FALSE(names.add(1, call("a"), start));

  REQUIRE(names.add(0, call("a"), start));
  decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].for_joined.size() == 1);
  REQUIRE(names.add(1, call("b"), start));
  decisions = names.decide();
  REQUIRE(decisions.size() == 2);
  CHECK(decisions[0].names == Names{hash_of_name("b")});
  CHECK(decisions[1].last_joined == 1);
  CHECK(names.empty());
  CHECK(names.entries() == 0);
}

TEST_CASE("a rank may join before the data of a call that all ranks stage") {
  NameCoordinator names = coordinator(2);
  for (const int rank : {0, 1})
    REQUIRE(names.add(rank, wishing(call("a"), DeviceRoute::undecided), start));
  REQUIRE(names.decide().size() == 1);
  REQUIRE(names.add(0, join_call(), start));
  REQUIRE(names.add(1, call("a"), start));
  CHECK(names.decide().empty());
  CHECK(names.missing(hash_of_name("a")) == std::vector<int>{0});
  REQUIRE(names.add(0, call("a"), start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].for_joined.empty());
  REQUIRE(names.add(1, join_call(), start));
  CHECK(names.decide().size() == 1);
  CHECK(names.entries() == 0);
}

TEST_CASE("a join names the ranks whose data it waits for") {
  NameCoordinator names = coordinator(2);
  REQUIRE(names.add(0, wishing(call("a"), DeviceRoute::nccl), start));
  NameArrival limited = join_call();
  limited.timeout = limited.remaining = seconds(2);
  for (const int rank : {0, 1})
    REQUIRE(names.add(rank, limited, start));
  REQUIRE(names.decide().size() == 1);
  CHECK(names.waits_for(0));
  CHECK_FALSE(names.waits_for(1));
  CHECK(names.missing(join_hash()) == std::vector<int>{0});
  const auto overdue = names.overdue(start + seconds(2));
  REQUIRE(overdue.has_value());
  CHECK(overdue->missing == std::vector<int>{0});
  // It takes as long as the device needs, and blocks no rank.
  CHECK(names.deadlock(start + seconds(9)).empty());
  REQUIRE(names.add(0, call("a"), start));
  CHECK_FALSE(names.waits_for(0));
  CHECK(names.decide().size() == 2);
  CHECK(names.entries() == 0);
}

TEST_CASE("ranks that block are no deadlock while data of one that has joined is expected") {
  NameCoordinator names = coordinator(2);
  const auto blocking = [](NameArrival arrival) {
    arrival.blocks = true;
    return arrival;
  };
  for (const int rank : {0, 1})
    REQUIRE(names.add(rank, wishing(call("a"), DeviceRoute::undecided), start));
  REQUIRE(names.decide().size() == 1);
  REQUIRE(names.add(0, join_call(), start));
  REQUIRE(names.add(1, blocking(call("a")), start));
  CHECK(names.deadlock(start + seconds(2)).empty());
  CHECK(names.next_deadline() == start + seconds(3));
  REQUIRE(names.add(0, call("a"), start));
  CHECK(names.decide().size() == 1);
}

TEST_CASE("a list whose parts differ owes no data") {
  NameCoordinator names = coordinator(2);
  for (const int rank : {0, 1}) {
    for (const char* const part : {"g[1/2]", "g[2/2]"}) {
      const bool odd = rank == 1 && part == std::string("g[2/2]");
      NameArrival arrival = wishing(call(part, odd ? 5 : 4), DeviceRoute::staged);
      arrival.part_of = {.list = 7, .parts = 2};
      REQUIRE(names.add(rank, arrival, start));
    }
  }
  CHECK(names.decide().size() == 2);
  CHECK(names.entries() == 0);
  for (const int rank : {0, 1})
    REQUIRE(names.add(rank, join_call(), start));
  CHECK(names.decide().size() == 1);
}

TEST_CASE("ranks that have joined make the slots of calls without a name") {
  NameCoordinator names = coordinator(2);
  REQUIRE(names.add(1, join_call(), start));
  NameArrival slot = wishing(call("NCCL call 1"), DeviceRoute::nccl);
  slot.of_unnamed = true;
  REQUIRE(names.add(0, slot, start));
  CHECK(names.decide().empty());
  CHECK(names.waits_for(1));
  CHECK(names.missing(hash_of_name("NCCL call 1")) == std::vector<int>{1});
  REQUIRE(names.add(1, slot, start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].route == DeviceRoute::nccl);
}

}  // namespace
}  // namespace dt
