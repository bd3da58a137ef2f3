#include "launcher/plan/job_size_rules.h"

#include "launcher/config/placement_options.h"

#include <algorithm>
#include <cstdint>

namespace dt {

SizeNeed needed_ranks(const JobSize& size, const std::vector<Host>& there, int other_tasks,
                      bool first_start) {
  const auto hosts = static_cast<int>(there.size());
  const int used = size.hosts_max == 0 ? hosts : std::min(hosts, size.hosts_max);
  int64_t slots = -int64_t{other_tasks};
  for (int host = 0; host < used; ++host)
    slots += there[static_cast<size_t>(host)].slots;
  const int least = first_start ? size.ranks_first.value_or(size.ranks_min) : size.ranks_min;
  const int64_t missing =
      std::max<int64_t>({least - slots, int64_t{size.hosts_min} - hosts, int64_t{0}});
  if (missing > 0) return {.missing = static_cast<int>(missing)};
  const int most = size.ranks_max == 0 ? processes_max : size.ranks_max;
  // A job has processes_max tasks at most.
  return {.ranks = static_cast<int>(
              std::min<int64_t>({slots, most, int64_t{processes_max} - other_tasks}))};
}

}  // namespace dt
