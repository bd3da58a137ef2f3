#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/host_resources.h"

#include <vector>

namespace dt {

/// The hosts of the job. All names of this machine count as one host, with a warning where there
/// are several; hosts that get no task are left out, and too few slots refused, as far as
/// that is known before any host is asked: wrong input is told before unreachable hosts.
Result<HostList> job_hosts(const RunConfig& config);

/// Who runs where on these hosts, of which the surveys tell what they offer.
Result<Plan> job_plan(const RunConfig& config, std::vector<Host> hosts,
                      const std::vector<HostResources>& resources);

/// --stdin RANK must name a rank of the plan, and --success tasks of it.
Result<> check_targets(const RunConfig& config, const Plan& plan);

bool all_slots_known(const std::vector<Host>& hosts);

/// A dry run binds nobody, unless it is to report that.
ResourceNeed resource_need(const RunConfig& config, const std::vector<Host>& hosts);

/// With the variables that tasks will have: -x CUDA_VISIBLE_DEVICES=… counts like a host's own.
std::vector<HostResources> with_forwarded_devices(std::vector<HostResources> resources,
                                                  const Environment& forwarded);

/// What make_plan is asked for: a host without slots offers its GPUs, else the CPUs that it may
/// use.
PlanRequest plan_request(const RunConfig& config, std::vector<Host> hosts,
                         const std::vector<HostResources>& resources);

/// What people should know of hosts whose slots their GPUs decide: GPUs that could not be listed,
/// or not be used; hosts of which the same is to be said are named together.
std::vector<std::string> resource_warnings(const std::vector<Host>& hosts,
                                           const std::vector<HostResources>& resources);

}  // namespace dt
