#include "comm/schedule/schedule.h"

#include <algorithm>

namespace dt {

Range part_range(size_t count, int part, int size) {
  const auto parts = static_cast<size_t>(size);
  const auto index = static_cast<size_t>(part);
  const size_t each = count / parts;
  const size_t longer = count % parts;  // the first ones hold one more
  const size_t begin = index * each + std::min(index, longer);
  return {begin, begin + each + (index < longer ? 1 : 0)};
}

Range equal_part(size_t count, int part) {
  const size_t begin = static_cast<size_t>(part) * count;
  return {begin, begin + count};
}

void append_copy(Steps& steps, Group group, Range from, Range to) {
  if (from.count() == 0) return;
  steps.push_back({.send_to = group.rank, .send = from, .receive_from = group.rank, .receive = to});
}

void append_transfer(Steps& steps, Step step) {
  if (step.send.count() == 0) step.send_to = -1;
  if (step.receive.count() == 0) step.receive_from = -1;
  if (step.send_to >= 0 || step.receive_from >= 0) steps.push_back(step);
}

size_t work_elements(const Steps& steps) {
  size_t elements = 0;
  for (const Step& step : steps) {
    for (const Range& range : {step.send, step.receive})
      if (range.place == Place::work) elements = std::max(elements, range.end);
  }
  return elements;
}

}  // namespace dt
