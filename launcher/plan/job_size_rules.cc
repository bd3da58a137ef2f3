#include "launcher/plan/job_size_rules.h"

#include "base/format.h"
#include "launcher/config/placement_options.h"

#include <algorithm>
#include <cstdint>

namespace dt {

namespace {

/// The hosts and slots that can be used, and those that are needed.
struct Supply {
  int64_t hosts = 0;
  int64_t slots = 0;
  int64_t slots_needed = 0;
};

Supply supply(const JobSize& size, const std::vector<Host>& there, int other_tasks,
              bool first_start) {
  Supply all = {.hosts = static_cast<int64_t>(there.size())};
  if (size.hosts_max > 0) all.hosts = std::min(all.hosts, int64_t{size.hosts_max});
  for (int64_t host = 0; host < all.hosts; ++host)
    all.slots += there[static_cast<size_t>(host)].slots;
  const int ranks = first_start ? size.ranks_first.value_or(size.ranks_min) : size.ranks_min;
  all.slots_needed = int64_t{ranks} + other_tasks;
  return all;
}

}  // namespace

SizeNeed needed_ranks(const JobSize& size, const std::vector<Host>& there, int other_tasks,
                      bool first_start) {
  const Supply all = supply(size, there, other_tasks, first_start);
  const int64_t missing =
      std::max({all.slots_needed - all.slots, size.hosts_min - all.hosts, int64_t{0}});
  if (missing > 0) return {.missing = static_cast<int>(missing)};
  const int most = size.ranks_max == 0 ? processes_max : size.ranks_max;
  // A job has processes_max tasks at most.
  return {.ranks = static_cast<int>(std::min<int64_t>(
              {all.slots - other_tasks, most, int64_t{processes_max} - other_tasks}))};
}

std::string shortage_text(const JobSize& size, const std::vector<Host>& there, int other_tasks,
                          bool first_start) {
  const Supply all = supply(size, there, other_tasks, first_start);
  if (all.slots >= all.slots_needed) return format("{} of {} hosts", all.hosts, size.hosts_min);
  return format("{} of {} slots", all.slots, all.slots_needed);
}

}  // namespace dt
