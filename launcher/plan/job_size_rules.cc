#include "launcher/plan/job_size_rules.h"

#include <algorithm>
#include <numeric>

namespace dt {

SizeNeed needed_ranks(const JobSize& size, const std::vector<Host>& there, int other_tasks,
                      bool first_start) {
  size_t hosts = there.size();
  if (size.hosts_max > 0) hosts = std::min(hosts, static_cast<size_t>(size.hosts_max));
  int slots = -other_tasks;
  for (size_t i = 0; i < hosts; ++i)
    slots += there[i].slots;
  const int least = first_start ? size.ranks_first.value_or(size.ranks_min) : size.ranks_min;
  int missing = std::max(0, least - slots);
  if (static_cast<int>(hosts) < size.hosts_min) missing = std::max(missing, 1);
  if (missing > 0) return {.missing = missing};
  return {.ranks = size.ranks_max > 0 ? std::min(size.ranks_max, slots) : slots};
}

}  // namespace dt
