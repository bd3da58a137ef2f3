#pragma once

#include "base/environment.h"
#include "base/io/log.h"
#include "base/result.h"
#include "launcher/config/placement_options.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/host_resources.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// What a task gets of its host for itself.
struct Binding {
  std::vector<int> cpus = {};    ///< empty: all that its agent may use
  std::optional<Gpu> gpu = {};   ///< none: all that its agent sees
  Environment environment = {};  ///< by which it sees that GPU alone
  bool operator==(const Binding&) const = default;
};

/// Those of one host, by local index, and what there is to say of them.
struct HostBindings {
  std::vector<Binding> tasks;
  std::string note;
  bool operator==(const HostBindings&) const = default;
};

/// Gives `tasks` processes CPUs and GPUs of one host: within what its agent may use, the first of
/// them to the first local rank.
///
/// --bind-to core: a core each, with all its hardware threads; not to be had with fewer cores.
/// --bind-to numa: a NUMA node each, neighbours in rank on the same one.
/// --bind-to auto: nothing with more processes than cores; else the NUMA node of the GPU with the
/// process's local rank, if that is known for all of them; else an equal share of the cores.
/// --gpu-bind rank: the GPU of the process's local rank; not to be had with fewer GPUs.
Result<HostBindings> bind_host(const PlacementOptions& options, int tasks,
                               const HostResources& resources);

/// Of all tasks of a plan; those without rank get nothing for themselves.
struct Bindings {
  std::vector<Binding> tasks;      ///< by their place in Plan::tasks
  std::vector<std::string> notes;  ///< for --verbose
  std::vector<std::string> lines;  ///< for --report-bindings
};

/// `surveys` are those of `hosts`, from which the plan was made; without surveys nobody is bound.
/// Hosts where it cannot be done as asked are named together.
Result<Bindings> bind_plan(const PlacementOptions& options, const Plan& plan,
                           const std::vector<Host>& hosts,
                           const std::vector<HostResources>& resources);

void tell(const Bindings& bindings, Log& log);

}  // namespace dt
