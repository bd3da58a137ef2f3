#include "comm/schedule/rank_order.h"

#include "comm/schedule/bruck.h"

#include <algorithm>

namespace dt {

namespace {

/// The most bytes of all inputs of a piece, except that a piece has one element of each rank at
/// least.
constexpr size_t work_bytes_max = size_t{4} << 20;
/// Inputs of up to this many bytes in total are gathered whole, in fewer rounds. With larger
/// inputs, each rank reduces its part of the elements, which sends fewer bytes.
constexpr size_t gathered_bytes_max = size_t{32} << 10;

int rank_at(Group group, int distance) {
  return (group.rank + distance + group.size) % group.size;
}

/// Appends the reduction of the inputs that lie behind each other in the work memory.
void append_reduction(Steps& steps, Group group, Range inputs, Range to) {
  if (to.count() == 0) return;
  steps.push_back({.send_to = group.rank,
                   .send = inputs,
                   .receive_from = group.rank,
                   .receive = to,
                   .fold = Fold::inputs});
}

size_t piece_elements(Group group, size_t element_bytes) {
  return std::max<size_t>(1, work_bytes_max / element_bytes / static_cast<size_t>(group.size));
}

/// The elements [first, first + most) of a range, as far as it has them.
Range piece(const Range& range, size_t first, size_t most) {
  const size_t begin = std::min(range.begin + first, range.end);
  return {begin, std::min(begin + most, range.end), range.place};
}

/// Every rank reduces its part of the input, piece by piece, and writes it to `to`. `part` returns
/// the part of a rank in the input. Later pieces of other ranks are sent after earlier ones are
/// written. So `to` may be this rank's own part, or that of rank 0. No rank sends the elements of
/// rank 0's part that this one has reduced.
template <class Part>
void append_reduce_scatter(Steps& steps, Group group, size_t element_bytes, Part part, Range to) {
  const auto ranks = static_cast<size_t>(group.size);
  const size_t most = piece_elements(group, element_bytes);
  for (size_t first = 0; first < part(0).count(); first += most) {
    const auto of = [&](int rank) { return piece(part(rank), first, most).in(Place::input); };
    const Range own = of(group.rank);
    const size_t length = own.count();
    const auto place = [&](int rank) {
      const size_t begin = static_cast<size_t>(rank) * length;
      return Range{begin, begin + length, Place::work};
    };
    append_copy(steps, group, own, place(group.rank));
    for (int distance = 1; distance < group.size; ++distance) {
      const int next = rank_at(group, distance);
      const int previous = rank_at(group, -distance);
      append_transfer(steps, {.send_to = next,
                              .send = of(next),
                              .receive_from = previous,
                              .receive = place(previous)});
    }
    append_reduction(steps, group, {0, ranks * length, Place::work}, piece(to, first, most));
  }
}

/// Gathers all inputs in the work memory, and reduces them at each rank.
Steps gathered_all_reduce(Group group, size_t count) {
  const size_t all = static_cast<size_t>(group.size) * count;
  Steps steps = bruck_all_gather(group, count);
  // The gather uses the first part of the work memory itself.
  for (Step& step : steps)
    if (step.receive.place == Place::output)
      step.receive = {all + step.receive.begin, all + step.receive.end, Place::work};
  append_reduction(steps, group, {all, 2 * all, Place::work}, {0, count});
  return steps;
}

}  // namespace

Steps rank_order_all_reduce(Group group, OrderedElements elements) {
  const auto ranks = static_cast<size_t>(group.size);
  if (elements.count * elements.bytes * ranks <= gathered_bytes_max)
    return gathered_all_reduce(group, elements.count);
  const auto part = [&](int rank) { return part_range(elements.count, rank, group.size); };
  Steps steps;
  append_reduce_scatter(steps, group, elements.bytes, part, part(group.rank));
  // Each rank sends its part around the ring.
  for (int i = 0; i + 1 < group.size; ++i) {
    append_transfer(steps, {.send_to = rank_at(group, 1),
                            .send = part(rank_at(group, -i)),
                            .receive_from = rank_at(group, -1),
                            .receive = part(rank_at(group, -i - 1))});
  }
  return steps;
}

Steps rank_order_reduce_scatter(Group group, OrderedElements elements) {
  Steps steps;
  const auto part = [&](int rank) { return equal_part(elements.count, rank); };
  append_reduce_scatter(steps, group, elements.bytes, part, {0, elements.count});
  return steps;
}

Steps rank_order_reduce(Group group, OrderedElements elements, int root) {
  Steps steps;
  const auto part = [&](int rank) { return part_range(elements.count, rank, group.size); };
  const Range own = part(group.rank);
  if (group.rank == root) {
    append_reduce_scatter(steps, group, elements.bytes, part, own);
    for (int distance = 1; distance < group.size; ++distance) {
      const int from = rank_at(group, distance);
      append_transfer(steps, {.receive_from = from, .receive = part(from)});
    }
    return steps;
  }
  // The result lies behind the inputs of the largest piece.
  const size_t most = std::min(own.count(), piece_elements(group, elements.bytes));
  const size_t begin = static_cast<size_t>(group.size) * most;
  const Range reduced{begin, begin + own.count(), Place::work};
  append_reduce_scatter(steps, group, elements.bytes, part, reduced);
  append_transfer(steps, {.send_to = root, .send = reduced});
  return steps;
}

}  // namespace dt
