#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/host_resources.h"

#include <vector>

namespace dt {

/// Returns the hosts of the job. All names of this machine are one host, with a warning if there
/// are several. If all slots are known, hosts without a task are left out, and too few slots fail
/// with Errc::input. This precedes all connections, so that wrong input is reported before
/// unreachable hosts.
Result<HostList> job_hosts(const RunConfig& config);

/// Makes the plan for these hosts. `resources`, index by index, decide the slots of hosts without
/// any.
Result<Plan> job_plan(const RunConfig& config, std::vector<Host> hosts,
                      const std::vector<HostResources>& resources);

/// Fails with Errc::input when --stdin RANK or --success names no task of the plan.
Result<> check_targets(const RunConfig& config, const Plan& plan);

bool all_slots_known(const std::vector<Host>& hosts);

/// Returns which resources the plan and the bindings need. A dry run needs none for bindings,
/// except with --report-bindings.
ResourceNeed resource_need(const RunConfig& config, const std::vector<Host>& hosts);

/// Applies a forwarded CUDA_VISIBLE_DEVICES (-x) to all hosts: it replaces the hosts' own values.
std::vector<HostResources> with_forwarded_devices(std::vector<HostResources> resources,
                                                  const Environment& forwarded);

/// Returns the request for make_plan. A host without slots gets one for each GPU, or else for each
/// CPU that its agent may use.
PlanRequest plan_request(const RunConfig& config, std::vector<Host> hosts,
                         const std::vector<HostResources>& resources);

/// Returns warnings about GPUs that could not be listed or cannot be used. Hosts with the same
/// warning are named in one line.
std::vector<std::string> resource_warnings(const std::vector<Host>& hosts,
                                           const std::vector<HostResources>& resources);

}  // namespace dt
