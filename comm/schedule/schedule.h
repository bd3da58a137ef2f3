#pragma once

#include <cstddef>
#include <vector>

namespace dt {

/// Elements [begin, end) of the buffer that a schedule works on.
struct Range {
  size_t begin = 0;
  size_t end = 0;
  size_t count() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

/// One step of one rank: it sends a range, receives another, or both at once. The next step starts
/// when both are complete.
struct Step {
  int send_to = -1;  ///< -1: nothing is sent
  Range send = {};
  int receive_from = -1;  ///< -1: nothing is received
  Range receive = {};
  bool reduce = false;  ///< true: reduce the received elements into the range; false: replace it
  bool operator==(const Step&) const = default;
};

/// A rank's part of a collective. Promises of every schedule below: it ends on every rank even when
/// links buffer no byte. No range is empty. Each element of the result is computed once, on one
/// rank, and copied to the others: all ranks have the same bits.
using Steps = std::vector<Step>;

struct Group {
  int rank = 0;
  int size = 1;
};

/// The part of `count` elements that rank `part` of `size` owns. Parts are in order, and differ by
/// one element at most.
Range part_range(size_t count, int part, int size);

/// Reduces `count` elements in place; every rank ends with the result. Ring reduce-scatter, then
/// ring all-gather (Patarasuk and Yuan 2009): 2 (n-1)/n of the data per link.
Steps ring_all_reduce(Group group, size_t count);
/// The same by a binomial tree to rank 0 and back: 2 log2(n) steps, for few elements.
Steps tree_all_reduce(Group group, size_t count);
/// Copies `count` elements from `root` to all ranks by a binomial tree.
Steps binomial_broadcast(Group group, size_t count, int root);
/// Gathers size * count elements. Rank r begins with its part [r * count, (r+1) * count) in place.
Steps ring_all_gather(Group group, size_t count);
/// Reduces size * count elements in place. Rank r ends with the result in part r only.
Steps ring_reduce_scatter(Group group, size_t count);
/// Ends on every rank after all ranks have started it (Hensgen, Finkel and Manber 1988). Each step
/// sends element 0 and receives into element 1.
Steps dissemination_barrier(Group group);

}  // namespace dt
