#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/plan/plan.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The hosts of a job, each machine once.
struct ResolvedHosts {
  /// The spares are the last; if there is a plan, the others are those with tasks.
  std::vector<Host> hosts = {};
  size_t spares = 0;
  std::vector<Role> roles = {};            ///< with hosts by the names in `hosts`
  std::vector<std::string> warnings = {};  ///< about hosts that the user named several times
  std::optional<Plan> plan = {};           ///< none: some slots depend on the hosts' resources
  bool operator==(const ResolvedHosts&) const = default;
};

/// Finds the hosts of the job. `own_names` has the names and addresses of this machine. All of them
/// are one host, with a warning if the user gave several.
///
/// Makes the plan if all slots are known. This precedes all connections, so that wrong input, such
/// as too few slots, is reported before unreachable hosts. Fails with Errc::input.
Result<ResolvedHosts> resolve_hosts(const RunConfig& config,
                                    const std::vector<std::string>& own_names);

/// Returns the hosts that a source names later, each machine once, as resolve_hosts() does.
Result<std::vector<Host>> found_hosts(const RunConfig& config, const HostList& found,
                                      const std::vector<std::string>& own_names);

bool all_slots_known(const std::vector<Host>& hosts);

/// Returns the request for make_plan, with the placement that the user wants. The last `spares` of
/// the hosts get no tasks. Requires that all slots are known.
PlanRequest plan_request(const RunConfig& config, std::vector<Host> hosts, size_t spares,
                         std::vector<Role> roles);

}  // namespace dt
