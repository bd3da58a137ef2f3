#pragma once

#include "comm/schedule/schedule.h"

#include <cstddef>

namespace dt {

// Reductions that add the inputs of each element from left to right by rank, as those in shared
// memory do. So a result has the same bits wherever the ranks run, and wherever an element lies in
// a buffer. Each rank gets all inputs of one part and reduces them at once (Fold::inputs).

/// `count` elements, or `count` a rank, of `bytes` each. They bound the work memory.
struct OrderedElements {
  size_t count = 0;
  size_t bytes = 1;
};

/// As ring_all_reduce. A large call sends the bytes of a ring. A small one sends its whole input to
/// each rank, in log2(n) rounds.
Steps rank_order_all_reduce(Group group, OrderedElements elements);
/// As ring_reduce_scatter, also in place.
Steps rank_order_reduce_scatter(Group group, OrderedElements elements);
/// As ring_reduce.
Steps rank_order_reduce(Group group, OrderedElements elements, int root);

}  // namespace dt
