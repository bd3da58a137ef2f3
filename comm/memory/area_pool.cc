#include "comm/memory/area_pool.h"

#include <algorithm>
#include <cassert>

namespace dt {

AreaPool::AreaPool(Options options) : options_(std::move(options)) {
  assert(options_.own_slot >= 0 && options_.own_slot < slots());
  assert(options_.parts <= parts_max);
}

std::atomic<uint64_t>& AreaPool::ticket(int place) const {
  const auto slot = static_cast<size_t>(place / parts_max);
  return options_.tickets[slot].of_part[static_cast<size_t>(place % parts_max)];
}

std::byte* AreaPool::part(int place) const {
  return options_.memory + static_cast<size_t>(place) * part_bytes(slots());
}

bool AreaPool::is_free(int index) const {
  if (ticket(options_.own_slot * parts_max + index).load(std::memory_order_relaxed) != 0)
    return false;
  const auto& others = own_[static_cast<size_t>(index)].others;
  return std::ranges::none_of(others, [](const auto& other) {
    // After this load, that member reads this part no more.
    return other.first->load(std::memory_order_acquire) == other.second;
  });
}

int AreaPool::reserve() {
  const std::scoped_lock lock(mutex_);
  for (int index = 0; index < options_.parts; ++index) {
    if (!is_free(index)) continue;
    const int place = options_.own_slot * parts_max + index;
    Own& own = own_[static_cast<size_t>(index)];
    const size_t begin = static_cast<size_t>(place) * part_bytes(slots());
    if (!own.backed && options_.back && !options_.back(begin, part_bytes(slots()))) return -1;
    own.backed = true;
    own.others.clear();
    SharedArea::clear(part(place));
    SharedArea::clear(part(place) + SharedArea::part_bytes(slots()));
    ticket(place).store(++last_ticket_, std::memory_order_release);
    return place;
  }
  return -1;
}

void AreaPool::release(int place) {
  const std::scoped_lock lock(mutex_);
  assert(place / parts_max == options_.own_slot);
  Own& own = own_[static_cast<size_t>(place % parts_max)];
  if (own.areas.unnamed) {
    retired_ += own.areas.unnamed->published_by_others() + own.areas.named->published_by_others();
    own.areas = {};
  }
  ticket(place).store(0, std::memory_order_release);
}

AreaPool::Areas AreaPool::make(std::span<const int> places, int self) {
  const std::scoped_lock lock(mutex_);
  const int own_place = places[static_cast<size_t>(self)];
  assert(own_place / parts_max == options_.own_slot);
  Own& own = own_[static_cast<size_t>(own_place % parts_max)];
  for (const int place : places) {
    if (place == own_place) continue;
    // Zero if that member has left the group already: then it is no reader any more.
    const uint64_t now = ticket(place).load(std::memory_order_acquire);
    if (now != 0) own.others.emplace_back(&ticket(place), now);
  }
  own.areas = {area(places, self, false), area(places, self, true)};
  return own.areas;
}

std::shared_ptr<SharedArea> AreaPool::area(std::span<const int> places, int self,
                                           bool named) const {
  SharedArea::Options options{.owner = options_.owner,
                              .self = self,
                              .heap = options_.heap,
                              .cut_for = slots(),
                              .slot_bytes_max = options_.slot_bytes_max,
                              .clock = options_.clock};
  std::vector<int> others;
  for (const int place : places) {
    options.parts.push_back(part(place) + (named ? SharedArea::part_bytes(slots()) : 0));
    if (place / parts_max != options_.own_slot) others.push_back(place / parts_max);
  }
  if (options_.wake) {
    options.wake = [wake = options_.wake, others] {
      for (const int slot : others)
        wake(slot);
    };
  }
  return std::make_shared<SharedArea>(std::move(options));
}

uint64_t AreaPool::published_by_others() const {
  const std::scoped_lock lock(mutex_);
  uint64_t sum = retired_;
  for (const Own& own : own_)
    if (own.areas.unnamed)
      sum += own.areas.unnamed->published_by_others() + own.areas.named->published_by_others();
  return sum;
}

}  // namespace dt
