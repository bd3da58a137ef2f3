#pragma once

#include "base/result.h"
#include "launcher/config/placement_options.h"
#include "launcher/plan/binding.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/host_resources.h"

#include <cstddef>
#include <string>
#include <vector>

namespace dt {

/// True when a role of the plan has resources of its own that need the hosts' GPUs, or their CPUs
/// and memory.
bool needs_gpus(const std::vector<Role>& roles);
bool needs_cpus_or_memory(const std::vector<Role>& roles);

/// Binds all tasks of one host of the plan, in the order of their launch.
///
/// Cores and GPUs of roles with resources are dealt in this order: each task has its own, and none
/// is dealt twice. A fraction of a GPU is shared by tasks of one role. A task whose role has no
/// cores is bound by --bind-to to those that are left; without --bind-to it may use all. A task
/// whose role has no GPUs gets one by --gpu-bind rank, and otherwise sees all. Fails with
/// Errc::input when the host has too few.
Result<HostBindings> bind_planned(const PlacementOptions& options, const Plan& plan, size_t agent,
                                  const HostResources& resources);

/// Returns a warning that names the hosts where the memory of tasks cannot be limited. `resources`
/// belong to `hosts`, index by index; those of the plan are among them.
std::vector<std::string> memory_warnings(const Plan& plan, const std::vector<Host>& hosts,
                                         const std::vector<HostResources>& resources);

}  // namespace dt
