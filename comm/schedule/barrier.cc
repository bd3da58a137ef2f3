#include "comm/schedule/barrier.h"

namespace dt {

Steps dissemination_barrier(Group group) {
  Steps steps;
  for (int distance = 1; distance < group.size; distance *= 2)
    steps.push_back({.send_to = (group.rank + distance) % group.size,
                     .send = {0, 1, Place::work},
                     .receive_from = (group.rank - distance + group.size) % group.size,
                     .receive = {1, 2, Place::work}});
  return steps;
}

}  // namespace dt
