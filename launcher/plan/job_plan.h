#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/resolve_hosts.h"
#include "launcher/protocol/host_resources.h"

#include <string>
#include <vector>

namespace dt {

/// Gives a host without slots one for each GPU. Without GPUs it gets its slots_without_gpus, or
/// else one for each CPU that its agent may use. `resources` belong to `hosts`, index by index.
std::vector<Host> with_slots(std::vector<Host> hosts, const std::vector<HostResources>& resources,
                             SlotUnit unit = SlotUnit::gpu_or_cpu);

/// Fails for hosts without GPUs, which would offer their CPUs. `resources` belong to `hosts`.
Result<> check_gpus(const std::vector<Host>& hosts, const std::vector<HostResources>& resources);

/// Returns the plan of the resolved hosts, or makes it when `resources` decide the slots of some.
/// Processes are shared evenly among hosts for which the user gave no slots.
Result<Plan> job_plan(const RunConfig& config, const ResolvedHosts& resolved,
                      const std::vector<HostResources>& resources);

/// Fails with Errc::input when --stdin RANK or --success names no task of the plan.
Result<> check_targets(const RunConfig& config, const Plan& plan);

/// Returns a warning that names the hosts without given slots for which no task was left.
std::vector<std::string> idle_host_warnings(const ResolvedHosts& resolved, const Plan& plan);

/// Returns a warning when --local-ranks-filter names no local rank of the plan: then the console
/// shows no output at all.
std::vector<std::string> shown_ranks_warnings(const std::vector<int>& shown, const Plan& plan);

/// Returns which resources the plan and the bindings need. A dry run needs none for bindings,
/// except with --report-bindings.
ResourceNeed resource_need(const RunConfig& config, const std::vector<Host>& hosts);

/// Applies a forwarded CUDA_VISIBLE_DEVICES (-x) to all hosts: it replaces the hosts' own values.
std::vector<HostResources> with_forwarded_devices(std::vector<HostResources> resources,
                                                  const Environment& forwarded);

/// Returns a warning when CUDA_VISIBLE_DEVICES of this machine does not reach the job's other
/// hosts.
std::vector<std::string> own_device_warnings(const std::vector<Host>& hosts, const Environment& own,
                                             const Environment& forwarded);

/// Returns warnings about GPUs that could not be listed or cannot be used. Hosts with the same
/// warning are named in one line.
std::vector<std::string> resource_warnings(const std::vector<Host>& hosts,
                                           const std::vector<HostResources>& resources);

}  // namespace dt
