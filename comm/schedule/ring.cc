#include "comm/schedule/schedule.h"

namespace dt {

namespace {

/// `index` modulo `size`; never negative.
int ring_index(int index, int size) {
  return ((index % size) + size) % size;
}

/// Appends a step that sends to the next rank and receives from the previous one. A side with an
/// empty range is omitted.
void append_ring_step(Steps& steps, Group group, Step step) {
  if (step.send.count() > 0) step.send_to = ring_index(group.rank + 1, group.size);
  if (step.receive.count() > 0) step.receive_from = ring_index(group.rank - 1, group.size);
  if (step.send_to >= 0 || step.receive_from >= 0) steps.push_back(step);
}

/// Part r of equal parts.
Range equal_part(size_t count, int part) {
  const size_t begin = static_cast<size_t>(part) * count;
  return {begin, begin + count};
}

}  // namespace

Steps ring_all_reduce(Group group, size_t count) {
  Steps steps;
  const auto part = [&](int index) {
    return part_range(count, ring_index(index, group.size), group.size);
  };
  // Each part travels around the ring once and is reduced at every rank. It is complete at the rank
  // before its own …
  for (int i = 0; i + 1 < group.size; ++i)
    append_ring_step(
        steps, group,
        {.send = part(group.rank - i), .receive = part(group.rank - i - 1), .reduce = true});
  // … and from there travels around once more, unchanged.
  for (int i = 0; i + 1 < group.size; ++i)
    append_ring_step(steps, group,
                     {.send = part(group.rank + 1 - i), .receive = part(group.rank - i)});
  return steps;
}

Steps ring_reduce_scatter(Group group, size_t count) {
  Steps steps;
  const auto part = [&](int index) { return equal_part(count, ring_index(index, group.size)); };
  for (int i = 0; i + 1 < group.size; ++i)
    append_ring_step(
        steps, group,
        {.send = part(group.rank - i - 1), .receive = part(group.rank - i - 2), .reduce = true});
  return steps;
}

Steps ring_all_gather(Group group, size_t count) {
  Steps steps;
  const auto part = [&](int index) { return equal_part(count, ring_index(index, group.size)); };
  for (int i = 0; i + 1 < group.size; ++i)
    append_ring_step(steps, group,
                     {.send = part(group.rank - i), .receive = part(group.rank - i - 1)});
  return steps;
}

}  // namespace dt
