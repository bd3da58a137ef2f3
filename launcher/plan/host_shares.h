#pragma once

#include "launcher/config/placement_options.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

/// What a host has for tasks that are to be placed.
struct TaskRoom {
  int64_t slots = 0;
  int64_t limit = 0;  ///< tasks at most, with those that it has
  int64_t used = 0;   ///< tasks that it has already
  int64_t free() const { return slots > used ? slots - used : 0; }
};

/// The places in `rooms` that `count` things go to, one after the other, when each takes as many as
/// it has room for. There is room for all.
std::vector<size_t> deal(const std::vector<int>& rooms, int count, MapBy by);

/// How many of `count` new tasks each host gets: within the free slots as long as they last. With
/// more, every host's share of all tasks (those that it has as well) is in proportion to its slots,
/// never above its limit nor below what it has, and what rounding leaves over goes to the largest
/// remainders, the first named first. The limits together have room for all.
std::vector<int> share_out(const std::vector<TaskRoom>& rooms, int count, MapBy by);

}  // namespace dt
