#pragma once

#include "comm/schedule/schedule.h"

namespace dt {

// Binomial trees: log2(n) rounds. The parent of a rank is the rank without its lowest set bit,
// counted from the root.

/// Copies `count` elements from the input of `root` to all outputs.
Steps binomial_broadcast(Group group, size_t count, int root);
/// Reduces `count` elements into the output of `root`.
Steps binomial_reduce(Group group, size_t count, int root);
/// Reduces to rank 0 and broadcasts the result: 2 log2(n) rounds of 2 (n-1) messages.
Steps tree_all_reduce(Group group, size_t count);
/// Gathers the inputs, `count` elements each, in the output of `root` by rank.
Steps binomial_gather(Group group, size_t count, int root);
/// Rank r gets part r of the input of `root`, `count` elements, as its output. If input and output
/// of the root are the same buffer, its own part ends at the beginning.
Steps binomial_scatter(Group group, size_t count, int root);

/// Each rank sends an element to its parent when its children have sent theirs. Sends the element
/// `work` of the work memory, and receives into the one behind it.
Steps tokens_to_root(Group group, int root, size_t work);
/// Each rank sends the element `work` to its children when it has got it from its parent.
Steps tokens_from_root(Group group, int root, size_t work);

}  // namespace dt
