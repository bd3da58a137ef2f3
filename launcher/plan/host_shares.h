#pragma once

#include "launcher/config/placement_options.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

/// Capacity of a host for tasks.
struct HostCapacity {
  int64_t slots = 0;
  int64_t limit = 0;  ///< maximum number of tasks, with those that it has already
  int64_t used = 0;   ///< tasks that it has already
  int64_t free() const { return slots > used ? slots - used : 0; }
};

/// Assigns `count` items to indices of `capacities`, in order, each index within its capacity.
/// MapBy::slot fills one index before the next; MapBy::node takes them in turn. Returns the index
/// of each item. Requires that the sum of `capacities` is at least `count`.
std::vector<size_t> assign_in_order(const std::vector<int>& capacities, int count, MapBy by);

/// Returns how many of `count` new tasks each host gets. If the free slots suffice, `by` assigns
/// them. Else each host's share of all tasks, old and new, is in proportion to its slots. It is at
/// most its limit, and at least the tasks that it has. Tasks left by rounding go to the largest
/// remainders; of equal ones, to the host named first. Requires that the limits suffice for all.
std::vector<int> host_shares(const std::vector<HostCapacity>& capacities, int count, MapBy by);

}  // namespace dt
