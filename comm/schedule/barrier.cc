#include "comm/schedule/schedule.h"

namespace dt {

Steps dissemination_barrier(Group group) {
  Steps steps;
  for (int distance = 1; distance < group.size; distance *= 2)
    steps.push_back({.send_to = (group.rank + distance) % group.size,
                     .send = {0, 1},
                     .receive_from = (group.rank - distance + group.size) % group.size,
                     .receive = {1, 2}});
  return steps;
}

}  // namespace dt
