#include "comm/schedule/direct.h"

#include <vector>

namespace dt {

namespace {

int next_rank(Group group, int distance) {
  return (group.rank + distance) % group.size;
}

int previous_rank(Group group, int distance) {
  return (group.rank - distance + group.size) % group.size;
}

/// The exchanges of all distances. `sent` and `received` return the part of a rank.
template <class Sent, class Received>
void append_exchanges(Steps& steps, Group group, Sent sent, Received received) {
  for (int distance = 1; distance < group.size; ++distance) {
    const int to = next_rank(group, distance);
    const int from = previous_rank(group, distance);
    append_transfer(
        steps, {.send_to = to, .send = sent(to), .receive_from = from, .receive = received(from)});
  }
}

std::vector<Range> ranges_of(std::span<const size_t> counts, Place place) {
  std::vector<Range> ranges;
  ranges.reserve(counts.size());
  size_t begin = 0;
  for (const size_t count : counts) {
    ranges.push_back({begin, begin + count, place});
    begin += count;
  }
  return ranges;
}

}  // namespace

Steps direct_gather(Group group, size_t count, int root) {
  Steps steps;
  const Range input{0, count, Place::input};
  if (group.rank != root) {
    append_transfer(steps, {.send_to = root, .send = input});
    return steps;
  }
  append_copy(steps, group, input, equal_part(count, root));
  for (int distance = 1; distance < group.size; ++distance) {
    const int from = next_rank(group, distance);
    append_transfer(steps, {.receive_from = from, .receive = equal_part(count, from)});
  }
  return steps;
}

Steps direct_scatter(Group group, size_t count, int root) {
  Steps steps;
  const Range output{0, count};
  if (group.rank != root) {
    append_transfer(steps, {.receive_from = root, .receive = output});
    return steps;
  }
  for (int distance = 1; distance < group.size; ++distance) {
    const int to = next_rank(group, distance);
    append_transfer(steps, {.send_to = to, .send = equal_part(count, to).in(Place::input)});
  }
  append_copy(steps, group, equal_part(count, root).in(Place::input), output);
  return steps;
}

Steps pairwise_all_to_all(Group group, size_t count, bool in_place) {
  Steps steps;
  const Range whole{0, count * static_cast<size_t>(group.size)};
  const Range own = equal_part(count, group.rank);
  if (in_place) {
    if (group.size > 1) append_copy(steps, group, whole.in(Place::input), whole.in(Place::work));
  } else {
    append_copy(steps, group, own.in(Place::input), own);
  }
  const Place source = in_place ? Place::work : Place::input;
  append_exchanges(
      steps, group, [&](int to) { return equal_part(count, to).in(source); },
      [&](int from) { return equal_part(count, from); });
  return steps;
}

Steps pairwise_all_to_all_v(Group group, Splits splits) {
  Steps steps;
  const std::vector<Range> sent = ranges_of(splits.sent, Place::input);
  const std::vector<Range> received = ranges_of(splits.received, Place::output);
  const auto at = [](const std::vector<Range>& ranges, int rank) {
    return ranges[static_cast<size_t>(rank)];
  };
  append_copy(steps, group, at(sent, group.rank), at(received, group.rank));
  append_exchanges(
      steps, group, [&](int to) { return at(sent, to); },
      [&](int from) { return at(received, from); });
  return steps;
}

}  // namespace dt
