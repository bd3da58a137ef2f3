#include "comm/schedule/ring.h"

#include <vector>

namespace dt {

namespace {

/// `index` modulo `size`; never negative.
int ring_index(int index, int size) {
  return ((index % size) + size) % size;
}

/// Sets the two neighbours of a step and appends it.
void append_ring_step(Steps& steps, Group group, Step step) {
  step.send_to = ring_index(group.rank + 1, group.size);
  step.receive_from = ring_index(group.rank - 1, group.size);
  append_transfer(steps, step);
}

/// One of two halves of the work memory, which steps use in turn.
Range work_slot(int step, size_t slot_count, size_t count) {
  const size_t begin = step % 2 == 0 ? 0 : slot_count;
  return {begin, begin + count, Place::work};
}

template <class Part>
Steps ring_gather_parts(Group group, Part part) {
  Steps steps;
  const Range own = part(group.rank);
  append_copy(steps, group, {0, own.count(), Place::input}, own);
  for (int i = 0; i + 1 < group.size; ++i)
    append_ring_step(steps, group,
                     {.send = part(ring_index(group.rank - i, group.size)),
                      .receive = part(ring_index(group.rank - i - 1, group.size))});
  return steps;
}

}  // namespace

Steps ring_all_reduce(Group group, size_t count) {
  Steps steps;
  if (group.size == 1) append_copy(steps, group, {0, count, Place::input}, {0, count});
  const auto part = [&](int index) {
    return part_range(count, ring_index(index, group.size), group.size);
  };
  // Each part travels around the ring once and is reduced at every rank. It is complete at the rank
  // before its own …
  for (int i = 0; i + 1 < group.size; ++i) {
    const Range reduced = part(group.rank - i - 1);
    append_ring_step(steps, group,
                     {.send = part(group.rank - i).in(i == 0 ? Place::input : Place::output),
                      .receive = reduced,
                      .fold = Fold::operand_first,
                      .operand = reduced.in(Place::input)});
  }
  // … and from there travels around once more, unchanged.
  for (int i = 0; i + 1 < group.size; ++i)
    append_ring_step(steps, group,
                     {.send = part(group.rank + 1 - i), .receive = part(group.rank - i)});
  return steps;
}

Steps ring_reduce_scatter(Group group, size_t count, bool in_place) {
  Steps steps;
  const Range result{0, count};
  if (group.size == 1) append_copy(steps, group, result.in(Place::input), result);
  const auto part = [&](int index) {
    return equal_part(count, ring_index(index, group.size)).in(Place::input);
  };
  // Two ranks in place: the only step would overwrite the part that it sends.
  const bool aside = in_place && group.size == 2;
  const int last = group.size - 2;
  for (int i = 0; i <= last; ++i) {
    append_ring_step(steps, group,
                     {.send = i == 0 ? part(group.rank - 1) : work_slot(i - 1, count, count),
                      .receive = i == last && !aside ? result : work_slot(i, count, count),
                      .fold = Fold::operand_first,
                      .operand = part(group.rank - i - 2)});
  }
  if (aside) append_copy(steps, group, work_slot(last, count, count), result);
  return steps;
}

Steps ring_reduce(Group group, size_t count, int root) {
  Steps steps;
  if (group.size == 1) append_copy(steps, group, {0, count, Place::input}, {0, count});
  const auto part = [&](int index) {
    return part_range(count, ring_index(index, group.size), group.size);
  };
  const bool at_root = group.rank == root;
  /// The memory for the part that this rank has reduced in step i.
  const auto reduced = [&](int i) {
    const Range range = part(group.rank - i - 1);
    return at_root ? range : work_slot(i, part(0).count(), range.count());
  };
  for (int i = 0; i + 1 < group.size; ++i)
    append_ring_step(steps, group,
                     {.send = i == 0 ? part(group.rank).in(Place::input) : reduced(i - 1),
                      .receive = reduced(i),
                      .fold = Fold::operand_first,
                      .operand = part(group.rank - i - 1).in(Place::input)});
  if (!at_root) {
    append_transfer(steps, {.send_to = root, .send = reduced(group.size - 2)});
    return steps;
  }
  for (int i = 1; i < group.size; ++i)
    append_transfer(
        steps, {.receive_from = ring_index(root + i, group.size), .receive = part(root + i + 1)});
  return steps;
}

Steps ring_all_gather(Group group, size_t count) {
  return ring_gather_parts(group, [&](int index) { return equal_part(count, index); });
}

Steps ring_all_gather_v(Group group, std::span<const size_t> counts) {
  std::vector<size_t> begins(counts.size() + 1);
  for (size_t i = 0; i < counts.size(); ++i)
    begins[i + 1] = begins[i] + counts[i];
  return ring_gather_parts(group, [&](int index) {
    const auto i = static_cast<size_t>(index);
    return Range{begins[i], begins[i + 1]};
  });
}

}  // namespace dt
