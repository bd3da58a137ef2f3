#include "comm/memory/range_list.h"

#include <algorithm>
#include <iterator>

namespace dt {

namespace {

/// Returns the next multiple; the caller has excluded an overflow.
size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::optional<RangeList::Range> RangeList::take(size_t bytes) {
  if (bytes > largest_free()) return std::nullopt;
  const size_t wanted = round_up(std::max<size_t>(bytes, 1), page_bytes);
  const size_t alignment = wanted >= huge_page_bytes ? huge_page_bytes : page_bytes;
  for (const auto& [begin, size] : free_) {
    const Range hole = {begin, size};
    const size_t at = round_up(hole.begin, alignment);
    const size_t skipped = at - hole.begin;
    if (skipped > hole.bytes || hole.bytes - skipped < wanted) continue;
    // Inserted first: if memory runs out here, nothing has changed.
    taken_.emplace(at, wanted);
    free_.erase(hole.begin);
    add_free({hole.begin, skipped});
    add_free({at + wanted, hole.bytes - skipped - wanted});
    return Range{at, wanted};
  }
  return std::nullopt;
}

std::optional<RangeList::Range> RangeList::give_back(size_t begin) {
  const auto found = taken_.find(begin);
  if (found == taken_.end()) return std::nullopt;
  const Range range = {found->first, found->second};
  taken_.erase(found);
  add_free(range);
  return range;
}

size_t RangeList::largest_free() const {
  size_t largest = 0;
  for (const auto& [begin, size] : free_)
    largest = std::max(largest, size);
  return largest;
}

/// Joins the range with the free ranges that it touches.
void RangeList::add_free(Range range) {
  if (range.bytes == 0) return;
  const auto above = free_.lower_bound(range.begin);
  if (above != free_.end() && above->first == range.begin + range.bytes) {
    range.bytes += above->second;
    free_.erase(above);
  }
  const auto next = free_.lower_bound(range.begin);
  if (next != free_.begin()) {
    const auto below = std::prev(next);
    if (below->first + below->second == range.begin) {
      below->second += range.bytes;
      return;
    }
  }
  free_.emplace(range.begin, range.bytes);
}

}  // namespace dt
