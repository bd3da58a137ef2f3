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

/// What one rank does at once: sends a range, receives another, or both. The next step starts when
/// both are complete.
struct Step {
  int send_to = -1;  ///< -1: nothing is sent
  Range send = {};
  int receive_from = -1;  ///< -1: nothing is received
  Range receive = {};
  bool reduce = false;  ///< combine what arrives with what is there, else replace it
  bool operator==(const Step&) const = default;
};

/// A rank's part of a collective. Promises of every schedule below: it ends on every rank even when
/// links hold no byte between sender and receiver; no range is empty; each element of the result is
/// computed once, on one rank, and copied to the others, so that all have the same bits.
using Steps = std::vector<Step>;

struct Group {
  int rank = 0;
  int size = 1;
};

/// The part of `count` elements that rank `part` of `size` owns: as equal as can be, in order.
Range part_range(size_t count, int part, int size);

/// Sums (or another reduction) over `count` elements, in place; every rank ends with the result.
/// Ring reduce-scatter, then ring all-gather (Patarasuk and Yuan 2009): 2 (n-1)/n of the data per
/// link.
Steps ring_all_reduce(Group group, size_t count);
/// The same by a binomial tree to rank 0 and back: 2 log2(n) steps, for what is small.
Steps tree_all_reduce(Group group, size_t count);
/// `count` elements from `root` to all by a binomial tree.
Steps binomial_broadcast(Group group, size_t count, int root);
/// Over size * count elements; rank r begins with its part [r * count, (r+1) * count) in place.
Steps ring_all_gather(Group group, size_t count);
/// Over size * count elements, in place; rank r ends with the result in part r alone.
Steps ring_reduce_scatter(Group group, size_t count);
/// Tells everybody that all are there (Hensel, Finkel and Manber 1988). One element goes each way:
/// sent from 0, received into 1.
Steps dissemination_barrier(Group group);

}  // namespace dt
