#pragma once

#include "comm/schedule/schedule.h"

#include <span>

namespace dt {

// Schedules in which each part goes directly from its source to its target.

/// As binomial_gather: each rank sends its part to the root, which receives one after the other.
Steps direct_gather(Group group, size_t count, int root);
/// As binomial_scatter: the root sends each rank its part.
Steps direct_scatter(Group group, size_t count, int root);

/// Sends part r of the input, `count` elements, to rank r. The output has the parts of all ranks by
/// rank. In step i each rank sends to the i-th next rank and receives from the i-th previous one.
/// `in_place`: input and output are the same buffer, and the work memory gets a copy of it.
Steps pairwise_all_to_all(Group group, size_t count, bool in_place);

/// The counts of the parts, by rank.
struct Splits {
  std::span<const size_t> sent;
  std::span<const size_t> received;
};
/// The same with parts of different sizes; not in place.
Steps pairwise_all_to_all_v(Group group, Splits splits);

}  // namespace dt
