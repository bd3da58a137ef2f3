#include "launcher/job/generations/restart_text.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/host_range.h"

#include <vector>

namespace dt {

std::string restart_text(const WorldRestart& restart, const Failure& after, const Plan& plan) {
  std::vector<std::string> hosts;
  for (const PlannedHost& planned : plan.hosts)
    hosts.push_back(planned.host.name);
  const std::string who = after.rank >= 0 ? format("rank {}", after.rank) : after.task.text();
  const bool at_once = restart.delay == Duration::zero();
  return format("restart {} of {}{} after {} on {}: {}; {} rank{} on {}", restart.number,
                restart.of, at_once ? "" : " in " + duration_text(restart.delay), who, after.host,
                after.cause, plan.world_size, plan.world_size == 1 ? "" : "s",
                compress_names(hosts));
}

}  // namespace dt
