#pragma once

#include "comm/schedule/schedule.h"

#include <span>

namespace dt {

// Schedules in which each rank sends to the next one and receives from the previous one.

/// Reduces `count` elements; every rank ends with the result. Reduce-scatter, then all-gather
/// (Patarasuk and Yuan 2009): each rank sends 2 (n-1)/n of the data.
Steps ring_all_reduce(Group group, size_t count);
/// Reduces size * count elements of the input. Rank r ends with part r of the result in its output,
/// which has `count` elements. `in_place`: the output is the beginning of the input.
Steps ring_reduce_scatter(Group group, size_t count, bool in_place);
/// Reduces `count` elements into the output of `root`. After a reduce-scatter in the ring, each
/// rank sends its part to the root. Each rank but the root sends all of the data once.
Steps ring_reduce(Group group, size_t count, int root);
/// Gathers the inputs of all ranks, `count` elements each, in every output.
Steps ring_all_gather(Group group, size_t count);
/// The same with the count of each rank, by rank.
Steps ring_all_gather_v(Group group, std::span<const size_t> counts);

}  // namespace dt
