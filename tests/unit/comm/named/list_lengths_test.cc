#include "comm/named/list_lengths.h"

#include "tests/unit/comm/named/coordinator_calls.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

ListPart part_of_list(uint32_t parts, uint64_t name = 7) {
  const ListPart unnamed{.list = 0, .parts = parts};
  return {.list = name - unnamed.name(), .parts = parts};
}

NameArrival part_of_grad(uint32_t index, uint32_t parts, size_t count = 4) {
  NameArrival arrival =
      call("grad[" + std::to_string(index) + "/" + std::to_string(parts) + "]", count);
  arrival.part_of = part_of_list(parts);
  return arrival;
}

TEST_CASE("lists of two lengths are unequal once every rank has announced a whole one") {
  CHECK(part_of_list(2).name() == 7);
  CHECK(part_of_list(3).name() == 7);
  ListLengths lengths(2);
  const std::vector<uint64_t> none;
  lengths.add(0, part_of_list(2));
  lengths.add(0, part_of_list(2));
  lengths.add(1, part_of_list(3));
  lengths.add(1, part_of_list(3));
  CHECK(lengths.unequal(part_of_list(3), {}) == none);
  lengths.add(1, part_of_list(3));
  CHECK(lengths.unequal(part_of_list(3), {}).size() == 2);
  CHECK(lengths.unequal(part_of_list(3, 8), {}) == none);
  lengths.forget(part_of_list(3));
  CHECK(lengths.unequal(part_of_list(2), {}) == none);
  lengths.forget(part_of_list(2));
  CHECK(lengths.entries() == 0);
}

TEST_CASE("a rank that has joined announces no list") {
  ListLengths lengths(3);
  lengths.add(0, part_of_list(1));
  for (int i = 0; i < 2; ++i)
    lengths.add(2, part_of_list(2));
  CHECK(lengths.unequal(part_of_list(2), {}).empty());
  CHECK(lengths.unequal(part_of_list(2), {1}).size() == 2);
}

TEST_CASE("lists of one name and two lengths fail on all ranks, and name a tensor of each") {
  NameCoordinator names = coordinator(2);
  for (uint32_t i = 1; i <= 3; ++i)
    REQUIRE(names.add(0, part_of_grad(i, 3), start));
  REQUIRE(names.add(1, part_of_grad(1, 2), start));
  CHECK(names.decide().empty());
  REQUIRE(names.add(1, part_of_grad(2, 2), start));
  const auto decisions = names.decide();
  REQUIRE(decisions.size() == 1);
  CHECK(decisions[0].names.size() == 5);
  REQUIRE(decisions[0].failure);
  CHECK(decisions[0].failure->code == Errc::mismatch);
  CHECK(decisions[0].failure->reason ==
        "all_reduce \"grad[1/3]\": rank 2 gave the name \"grad[1/2]\", rank 0 the name "
        "\"grad[1/3]\"");
  CHECK(names.entries() == 0);

  for (const int rank : {0, 1})
    for (uint32_t i = 1; i <= 2; ++i)
      REQUIRE(names.add(rank, part_of_grad(i, 2), start));
  const auto next = names.decide();
  REQUIRE(next.size() == 1);
  CHECK_FALSE(next[0].failure);
  CHECK(names.entries() == 0);
}

TEST_CASE("two lists of one name are under way at once where the ranks make both") {
  NameCoordinator names = coordinator(2);
  for (uint32_t i = 1; i <= 3; ++i)
    REQUIRE(names.add(0, part_of_grad(i, 3), start));
  for (uint32_t i = 1; i <= 2; ++i)
    REQUIRE(names.add(0, part_of_grad(i, 2), start));
  for (uint32_t i = 1; i <= 2; ++i)
    REQUIRE(names.add(1, part_of_grad(i, 2), start));
  for (uint32_t i = 1; i <= 3; ++i)
    REQUIRE(names.add(1, part_of_grad(i, 3), start));
  for (const NameDecision& decision : names.decide())
    CHECK_FALSE(decision.failure);
  CHECK(names.entries() == 0);
}

}  // namespace
}  // namespace dt
