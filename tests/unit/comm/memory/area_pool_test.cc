#include "comm/memory/area_pool.h"

#include "tests/unit/comm/memory/heap_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace dt {
namespace {

constexpr MailboxRound first_round{MailboxRound::phases_max};

/// The pools of three tasks of a host.
struct Host {
  explicit Host(int parts = AreaPool::parts_max) {
    for (int slot = 0; slot < 3; ++slot)
      pools.push_back(memory.of(slot, parts));
  }
  AreaPool& operator[](size_t slot) { return *pools[slot]; }

  HeapPool memory{3};
  std::vector<std::shared_ptr<AreaPool>> pools;
};

TEST_CASE("the members of a group see one area, whatever places they have") {
  Host host;
  host[2].reserve();  // of another group
  const std::array places = {host[2].reserve(), host[0].reserve()};
  const AreaPool::Areas of_2 = host[2].make(places, 0);
  const AreaPool::Areas of_0 = host[0].make(places, 1);
  of_2.unnamed->mailbox(0, first_round).call_hash = 7;
  of_0.named->mailbox(1, first_round).call_hash = 8;
  CHECK(of_0.unnamed->mailbox(0, first_round).call_hash == 7);
  CHECK(of_2.named->mailbox(1, first_round).call_hash == 8);
  CHECK(&of_0.unnamed->mailbox(0, first_round) != &of_0.named->mailbox(0, first_round));
  CHECK(of_0.unnamed->slot_bytes_max() == SharedArea::slot_bytes_max(3));
}

TEST_CASE("the parts of all tasks lie apart") {
  Host host(2);
  std::vector<std::array<int, 2>> groups;
  std::vector<const void*> slots;
  for (int group = 0; group < 2; ++group) {
    const std::array places = {host[0].reserve(), host[1].reserve()};
    const AreaPool::Areas areas = host[0].make(places, 0);
    for (const auto& area : {areas.unnamed, areas.named})
      for (const int member : {0, 1})
        slots.push_back(area->slot(member, 3, 4096));
  }
  std::ranges::sort(slots);
  for (size_t i = 1; i < slots.size(); ++i)
    CHECK(static_cast<const std::byte*>(slots[i]) - static_cast<const std::byte*>(slots[i - 1]) >=
          static_cast<std::ptrdiff_t>(SharedArea::part_bytes(3)));
}

TEST_CASE("a task without a part left gets none until a group has ended on all its members") {
  Host host(1);
  const std::array places = {host[0].reserve(), host[1].reserve()};
  CHECK(host[0].reserve() == -1);
  CHECK(host[2].reserve() >= 0);
  host[0].make(places, 0);
  host[1].make(places, 1);
  host[0].release(places[0]);
  CHECK(host[0].reserve() == -1);  // task 1 may still read it
  host[1].release(places[1]);
  CHECK(host[0].reserve() == places[0]);
  CHECK(host[1].reserve() == places[1]);
}

TEST_CASE("a task that makes its group after another member has left it waits for nobody") {
  Host host(1);
  const std::array places = {host[0].reserve(), host[1].reserve()};
  host[1].make(places, 1);
  host[1].release(places[1]);
  CHECK(host[1].reserve() == -1);
  host[0].make(places, 0);
  host[0].release(places[0]);
  CHECK(host[0].reserve() == places[0]);
  CHECK(host[1].reserve() == places[1]);
}

TEST_CASE("a part that no group got is free again, and a used one begins as new") {
  Host host(1);
  int place = host[0].reserve();
  host[0].release(place);
  place = host[0].reserve();
  REQUIRE(place >= 0);
  const std::array places = {place, host[1].reserve()};
  {
    const AreaPool::Areas areas = host[0].make(places, 0);
    areas.unnamed->mailbox(0, first_round).round = first_round.number;
    areas.named->progress(0).sent = 9;
  }
  host[1].make(places, 1);
  for (const size_t slot : {0, 1})
    host[slot].release(places[slot]);
  REQUIRE(host[0].reserve() == place);
  const AreaPool::Areas again = host[0].make(places, 0);
  CHECK(again.unnamed->mailbox(0, first_round).round == 0);
  CHECK(again.named->progress(0).sent == 0);
}

TEST_CASE("each part's memory is asked for once, and a task without it has no part") {
  const HeapPool memory(2);
  std::vector<size_t> asked;
  bool there = false;
  const auto pool = memory.of(1, 2, [&](size_t begin, size_t bytes) {
    CHECK(bytes == AreaPool::part_bytes(2));
    asked.push_back(begin / bytes);
    return there;
  });
  CHECK(pool->reserve() == -1);
  there = true;
  const int place = pool->reserve();
  pool->release(place);
  CHECK(pool->reserve() == place);
  CHECK(pool->reserve() == place + 1);
  const auto first = static_cast<size_t>(place);
  CHECK(asked == std::vector<size_t>{first, first, first + 1});
}

TEST_CASE("publications of the others in any area show, also when an area ends, and wake members") {
  const HeapPool memory(3);
  const auto self = memory.of(0);
  std::vector<int> woken;
  const auto other =
      memory.of(2, AreaPool::parts_max, {}, [&](int slot) { woken.push_back(slot); });
  const std::array places = {self->reserve(), other->reserve()};
  self->make(places, 0);
  const AreaPool::Areas of_other = other->make(places, 1);
  uint64_t seen = self->published_by_others();
  for (const auto& area : {of_other.unnamed, of_other.named}) {
    area->publish(area->mailbox(1, first_round).round, first_round.number);
    CHECK(self->published_by_others() != seen);
    seen = self->published_by_others();
  }
  CHECK(woken == std::vector{0, 0});
  self->release(places[0]);
  CHECK(self->published_by_others() == seen);
}

}  // namespace
}  // namespace dt
