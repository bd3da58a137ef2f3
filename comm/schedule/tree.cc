#include "comm/schedule/schedule.h"

namespace dt {

namespace {

/// The steps of a binomial broadcast from rank 0 of a group in which this rank is `rank`; peers are
/// numbered the same way.
Steps broadcast_from_zero(Group group, size_t count) {
  Steps steps;
  if (count == 0) return steps;
  const Range all{0, count};
  // A rank's parent is itself without its lowest set bit; its children add a lower bit.
  int bit = 1;
  while (bit < group.size && (group.rank & bit) == 0)
    bit *= 2;
  if (group.rank != 0) steps.push_back({.receive_from = group.rank - bit, .receive = all});
  for (bit /= 2; bit > 0; bit /= 2)
    if (group.rank + bit < group.size) steps.push_back({.send_to = group.rank + bit, .send = all});
  return steps;
}

}  // namespace

Steps binomial_broadcast(Group group, size_t count, int root) {
  const Group turned{(group.rank - root + group.size) % group.size, group.size};
  Steps steps = broadcast_from_zero(turned, count);
  for (Step& step : steps) {
    if (step.send_to >= 0) step.send_to = (step.send_to + root) % group.size;
    if (step.receive_from >= 0) step.receive_from = (step.receive_from + root) % group.size;
  }
  return steps;
}

Steps tree_all_reduce(Group group, size_t count) {
  const Steps down = broadcast_from_zero(group, count);
  // The reduction is the broadcast in reverse order, with sender and receiver exchanged.
  Steps steps;
  for (auto step = down.rbegin(); step != down.rend(); ++step)
    steps.push_back({.send_to = step->receive_from,
                     .send = step->receive,
                     .receive_from = step->send_to,
                     .receive = step->send,
                     .reduce = step->send_to >= 0});
  steps.insert(steps.end(), down.begin(), down.end());
  return steps;
}

}  // namespace dt
