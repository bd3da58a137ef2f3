#include "launcher/plan/binding.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/plan/role_binding.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace dt {

namespace {

/// For each task the CPUs to which it is bound; empty: no task is bound.
using CpuSets = std::vector<std::vector<int>>;

/// Returns the CPUs of the cores from `first` up to, without, `last`.
std::vector<int> cpus_between(const Topology& topology, size_t first, size_t last) {
  Topology part;
  part.cores.assign(topology.cores.begin() + static_cast<ptrdiff_t>(first),
                    topology.cores.begin() + static_cast<ptrdiff_t>(last));
  return part.cpus();
}

Result<CpuSets> core_each(const Topology& topology, size_t tasks) {
  if (tasks > topology.cores.size()) {
    return fail(Errc::input, format("--bind-to core: {} processes on {} cores; use --bind-to auto, "
                                    "which then binds none",
                                    tasks, topology.cores.size()));
  }
  CpuSets sets;
  for (size_t i = 0; i < tasks; ++i)
    sets.push_back(topology.cores[i].cpus);
  return sets;
}

CpuSets node_each(const Topology& topology, size_t tasks) {
  CpuSets sets;
  for (size_t i = 0; i < tasks; ++i) {
    const Core& first_core = topology.cores[i * topology.cores.size() / tasks];
    sets.push_back(topology.cpus_of_node(first_core.numa_node));
  }
  return sets;
}

CpuSets equal_shares(const Topology& topology, size_t tasks) {
  const size_t cores = topology.cores.size();
  CpuSets sets;
  for (size_t i = 0; i < tasks; ++i)
    sets.push_back(cpus_between(topology, i * cores / tasks, (i + 1) * cores / tasks));
  return sets;
}

/// Returns the NUMA nodes near the GPUs. Empty when one is unknown, or has no CPU that the agent
/// may use.
CpuSets nodes_of_gpus(const Topology& topology, const std::vector<Gpu>& gpus, size_t tasks) {
  if (tasks > gpus.size()) return {};
  const std::vector<int> nodes = topology.numa_nodes();
  CpuSets sets;
  for (size_t i = 0; i < tasks; ++i) {
    // On machines with one node, the kernel often reports no node for a device.
    const int node = nodes.size() == 1 ? nodes.front() : gpus[i].numa_node;
    std::vector<int> cpus = topology.cpus_of_node(node);
    if (cpus.empty()) return {};
    sets.push_back(std::move(cpus));
  }
  return sets;
}

CpuSets by_devices(const HostResources& resources, const std::vector<Gpu>& gpus, size_t tasks) {
  const Topology& topology = resources.topology;
  if (tasks > topology.cores.size()) return {};
  CpuSets sets = nodes_of_gpus(topology, gpus, tasks);
  return sets.empty() ? equal_shares(topology, tasks) : sets;
}

/// Resolves near_gpu, which depends on the host.
BindTo binding_on_host(BindTo bind_to, const std::vector<Gpu>& gpus) {
  if (bind_to != BindTo::near_gpu) return bind_to;
  return gpus.empty() ? BindTo::numa : BindTo::automatic;
}

Result<CpuSets> cpu_sets(BindTo bind_to, const HostResources& resources,
                         const std::vector<Gpu>& gpus, size_t tasks) {
  switch (bind_to) {
    case BindTo::none:
      return CpuSets();
    case BindTo::core:
      return core_each(resources.topology, tasks);
    case BindTo::numa:
      return node_each(resources.topology, tasks);
    case BindTo::automatic:
      return by_devices(resources, gpus, tasks);
    case BindTo::near_gpu:
      break;  // is resolved
  }
  return CpuSets();
}

Result<> check_gpus(const HostResources& resources, const std::vector<Gpu>& gpus, size_t tasks) {
  if (tasks <= gpus.size()) return {};
  if (!resources.gpu_failure.empty())
    return fail(Errc::input, format("--gpu-bind rank: {}", resources.gpu_failure));
  return fail(Errc::input, format("--gpu-bind rank: {} processes on {} GPUs; use --ppn {} or "
                                  "--gpu-bind none, or for tests --gpu-share",
                                  tasks, gpus.size(), std::max<size_t>(1, gpus.size())));
}

/// A line of --report-bindings: "rank 0 on node1: cpus 0-3, NUMA node 0, GPU 0 (H100)".
std::string line_of(const Task& task, const std::string& host, const Binding& binding,
                    const HostResources& resources) {
  const bool bound = !binding.cpus.empty();
  const std::vector<int> cpus = bound ? binding.cpus : resources.topology.cpus();
  Topology part = resources.topology;
  std::erase_if(part.cores, [&cpus](const Core& core) {
    return std::ranges::find_first_of(core.cpus, cpus) == core.cpus.end();
  });
  std::vector<std::string> gpus;
  for (const Gpu& gpu : visible_gpus(resources.gpus.gpus, resources.visible)) {
    if (!binding.gpus || std::ranges::count(*binding.gpus, gpu) > 0)
      gpus.push_back(format("{} ({})", gpu.visible_as, gpu.name));
  }
  const std::string name = task.rank >= 0 ? format("rank {}", task.rank) : task.id.text();
  return format("{} on {}: cpus {}{}, NUMA node {}, GPU {}{}", name, host, ranges_text(cpus),
                bound ? "" : " (not bound)", ranges_text(part.numa_nodes()),
                gpus.empty() ? "none" : join(gpus, ", "),
                binding.memory_max > 0 ? ", memory " + memory_text(binding.memory_max) : "");
}

/// Returns the resources of the plan's hosts. Requires that these are some of `hosts`.
std::vector<const HostResources*> resources_of(const Plan& plan, const std::vector<Host>& hosts,
                                               const std::vector<HostResources>& resources) {
  std::vector<const HostResources*> found;
  for (const PlannedHost& planned : plan.hosts) {
    const auto at = std::ranges::find_if(
        hosts, [&planned](const Host& host) { return host.same_as(planned.host); });
    found.push_back(&resources[static_cast<size_t>(at - hosts.begin())]);
  }
  return found;
}

}  // namespace

void Binding::show_only(std::vector<Gpu> shown, const VisibleVariables& visible) {
  std::vector<std::string> names(shown.size());
  std::ranges::transform(shown, names.begin(), &Gpu::visible_as);
  environment = {{"CUDA_VISIBLE_DEVICES", join(names, ",")}};
  // dtrain uses NVML's numbers, in the order of the bus. CUDA's default order is by speed.
  if (!visible.cuda && !shown.empty()) environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  gpus = std::move(shown);
}

Result<HostBindings> bind_host(const PlacementOptions& options, int tasks,
                               const HostResources& resources) {
  assert(tasks > 0);
  const auto count = static_cast<size_t>(tasks);
  const std::vector<Gpu> gpus = visible_gpus(resources.gpus.gpus, resources.visible);
  const BindTo bind_to = binding_on_host(options.bind_to, gpus);
  CpuSets sets = TRY(cpu_sets(bind_to, resources, gpus, count));
  HostBindings bindings = {.tasks = std::vector<Binding>(count), .note = {}};
  for (size_t i = 0; i < sets.size(); ++i)
    bindings.tasks[i].cpus = std::move(sets[i]);
  if (bind_to == BindTo::automatic && sets.empty()) {
    bindings.note =
        format("{} processes on {} cores are not bound", count, resources.topology.cores.size());
  }
  if (options.gpu_bind == GpuBind::none) return bindings;
  if (!options.gpu_share || gpus.empty()) TRY(check_gpus(resources, gpus, count));
  for (size_t i = 0; i < count; ++i)
    bindings.tasks[i].show_only({gpus[i % gpus.size()]}, resources.visible);
  return bindings;
}

Result<Bindings> bind_plan(const PlacementOptions& options, const Plan& plan,
                           const std::vector<Host>& hosts,
                           const std::vector<HostResources>& resources) {
  Bindings all = {.tasks = std::vector<Binding>(plan.tasks.size()), .notes = {}, .lines = {}};
  if (resources.empty()) return all;
  const std::vector<const HostResources*> found = resources_of(plan, hosts, resources);
  std::map<std::string, std::vector<std::string>> hosts_by_failure;
  for (size_t agent = 0; agent < plan.hosts.size(); ++agent) {
    const PlannedHost& planned = plan.hosts[agent];
    if (planned.tasks.empty()) continue;
    Result<HostBindings> bound = bind_planned(options, plan, agent, *found[agent]);
    if (!bound) {
      hosts_by_failure[bound.error().message].push_back(planned.host.name);
      continue;
    }
    if (!bound->note.empty()) all.notes.push_back(format("{}: {}", planned.host.name, bound->note));
    for (size_t i = 0; i < planned.tasks.size(); ++i)
      all.tasks[planned.tasks[i]] = std::move(bound->tasks[i]);
  }
  std::vector<std::string> failures;
  for (const auto& [failure, names] : hosts_by_failure)
    failures.push_back(format("{}: {}", join(names, ", "), failure));
  if (!failures.empty()) return fail(Errc::input, join(failures, "\n"));
  for (size_t i = 0; options.report_bindings && i < plan.tasks.size(); ++i) {
    const Role* const role = find_role(plan.roles, plan.tasks[i].id.role);
    if (plan.tasks[i].rank < 0 && (role == nullptr || !role->resources.are_given())) continue;
    const auto agent = static_cast<size_t>(plan.tasks[i].agent);
    all.lines.push_back(
        line_of(plan.tasks[i], plan.hosts[agent].host.name, all.tasks[i], *found[agent]));
  }
  return all;
}

void log_bindings(const Bindings& bindings, Log& log) {
  for (const std::string& note : bindings.notes)
    log.info("{}", note);
  for (const std::string& line : bindings.lines)
    log.print("{}", line);
}

}  // namespace dt
