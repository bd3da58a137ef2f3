#pragma once

#include "base/environment.h"
#include "base/io/log.h"
#include "base/result.h"
#include "launcher/config/placement_options.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/host_resources.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The CPUs, GPUs and memory that a task gets for itself.
struct Binding {
  std::vector<int> cpus = {};                 ///< empty: all that its agent may use
  std::optional<std::vector<Gpu>> gpus = {};  ///< none: all that its agent sees
  Environment environment = {};               ///< hides all GPUs but these from the task
  uint64_t memory_max = 0;                    ///< in bytes; 0: no limit
  /// Sets `gpus`, and the variables that hide the others.
  void show_only(std::vector<Gpu> shown, const VisibleVariables& visible);
  bool operator==(const Binding&) const = default;
};

/// Bindings of one host's tasks, in their order, and a note for --verbose (may be empty).
struct HostBindings {
  std::vector<Binding> tasks;
  std::string note;
  bool operator==(const HostBindings&) const = default;
};

/// Binds `tasks` processes to CPUs and GPUs of one host, in the order of their local ranks. Uses
/// only resources that the host's agent may use.
///
/// --bind-to core: each gets one core with all its hardware threads. Fails with fewer cores.
/// --bind-to numa: each gets one NUMA node; consecutive ranks share a node.
/// --bind-to auto: binds nothing with more processes than cores. Else each gets the NUMA node of
/// the GPU with its local rank. If not all of these are known, each gets an equal share of cores.
/// --numa-binding node: as auto on a host with GPUs, else as numa.
/// --gpu-bind rank: each gets the GPU with its local rank. Fails with fewer GPUs, but
/// --gpu-share gives them in turn.
Result<HostBindings> bind_host(const PlacementOptions& options, int tasks,
                               const HostResources& resources);

/// Bindings of all tasks of a plan. Tasks without rank are bound only by resources of their role.
struct Bindings {
  std::vector<Binding> tasks;      ///< same indices as Plan::tasks
  std::vector<std::string> notes;  ///< for --verbose
  std::vector<std::string> lines;  ///< for --report-bindings
};

/// `resources` belong to `hosts`, index by index; those of the plan are among them. Empty
/// `resources` bind no task. Fails with Errc::input, which names all hosts that lack resources.
Result<Bindings> bind_plan(const PlacementOptions& options, const Plan& plan,
                           const std::vector<Host>& hosts,
                           const std::vector<HostResources>& resources);

/// Logs the notes, and the lines of --report-bindings.
void log_bindings(const Bindings& bindings, Log& log);

}  // namespace dt
