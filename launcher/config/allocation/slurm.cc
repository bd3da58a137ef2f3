#include "launcher/config/allocation/slurm.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/allocation/allocated_hosts.h"
#include "launcher/config/allocation/allocation_variable.h"
#include "launcher/config/allocation/node_list.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dt {
namespace {

/// A node of the job, as Slurm describes it. It may be in several groups.
struct Node {
  std::string name;
  std::string group;         ///< "_HET_GROUP_1"; empty: the job has no groups
  std::optional<int> tasks;  ///< none: the job did not ask for tasks
  std::optional<int> cpus;
};

bool is_step(const Environment& environment) {
  return has_variable(environment, "SLURM_STEP_ID");
}

tl::unexpected<Error> contradiction(const AllocationVariable& counts, size_t count,
                                    const AllocationVariable& list, size_t nodes) {
  return counts.refuse(format("{} number{} for the {} host{} of {}", count, count == 1 ? "" : "s",
                              nodes, nodes == 1 ? "" : "s", list.text()));
}

/// Returns the tasks that the job asked for on each node. None where it asked for no tasks, and in
/// a step on some of the nodes, where the variable describes these alone.
Result<std::optional<std::vector<int>>> tasks_of(const Environment& environment,
                                                 const std::string& group,
                                                 const AllocationVariable& list, size_t nodes) {
  const bool asked = has_variable(environment, "SLURM_NTASKS" + group) ||
                     has_variable(environment, "SLURM_NTASKS_PER_NODE" + group);
  if (!asked) return std::nullopt;
  const AllocationVariable variable =
      TRY(need_variable(environment, "SLURM_TASKS_PER_NODE" + group));
  std::vector<int> tasks = TRY(parse_node_counts(variable));
  if (tasks.size() == nodes) return std::optional(std::move(tasks));
  if (is_step(environment)) return std::nullopt;
  return contradiction(variable, tasks.size(), list, nodes);
}

Result<std::optional<std::vector<int>>> cpus_of(const Environment& environment,
                                                const std::string& group,
                                                const AllocationVariable& list, size_t nodes) {
  const auto variable = find_variable(environment, "SLURM_JOB_CPUS_PER_NODE" + group);
  if (!variable) return std::nullopt;
  std::vector<int> cpus = TRY(parse_node_counts(*variable));
  if (cpus.size() == nodes) return std::optional(std::move(cpus));
  return contradiction(*variable, cpus.size(), list, nodes);
}

Result<std::vector<Node>> nodes_of(const Environment& environment, const std::string& group) {
  const AllocationVariable list = TRY(need_variable(environment, "SLURM_JOB_NODELIST" + group));
  std::vector<std::string> names = TRY(expand_node_list(list));
  const auto tasks = TRY(tasks_of(environment, group, list, names.size()));
  const auto cpus = TRY(cpus_of(environment, group, list, names.size()));
  std::vector<Node> nodes;
  for (size_t i = 0; i < names.size(); ++i) {
    nodes.push_back({.name = std::move(names[i]),
                     .group = group,
                     .tasks = tasks ? std::optional((*tasks)[i]) : std::nullopt,
                     .cpus = cpus ? std::optional((*cpus)[i]) : std::nullopt});
  }
  return nodes;
}

Result<std::vector<Node>> nodes_of_job(const Environment& environment) {
  const auto size = find_variable(environment, "SLURM_HET_SIZE");
  if (!size) return nodes_of(environment, "");
  const int groups = TRY(size->number(1, slurm_groups_max));
  std::vector<Node> nodes;
  for (int group = 0; group < groups; ++group) {
    std::vector<Node> more = TRY(nodes_of(environment, format("_HET_GROUP_{}", group)));
    std::ranges::move(more, std::back_inserter(nodes));
  }
  return nodes;
}

}  // namespace

Result<Allocation> read_slurm(const AllocationInput& input) {
  const AllocationVariable id = TRY(need_variable(input.environment, "SLURM_JOB_ID"));
  const std::vector<Node> nodes = TRY(nodes_of_job(input.environment));
  const bool several_tasks =
      std::ranges::any_of(nodes, [](const Node& node) { return node.tasks.value_or(1) > 1; });
  AllocatedHosts hosts;
  for (const Node& node : nodes) {
    Host host = {.name = node.name};
    if (input.per_host) {
      host.slots = *input.per_host;
    } else if (several_tasks && node.tasks) {
      host.slots = *node.tasks;
    } else {
      host.slots_without_gpus = node.tasks ? 1 : node.cpus.value_or(0);
    }
    // Groups may share a node, on which each of them has slots.
    const Result<> added = hosts.add(std::move(host), input.per_host ? "" : node.group);
    if (!added)
      return fail(Errc::input,
                  format("SLURM_JOB_NODELIST{}: {}", node.group, added.error().message));
  }
  return Allocation{.name = "Slurm job " + printable(id.value),
                    .list = {.hosts = std::move(hosts).finish(), .warnings = {}},
                    .slurm_job = id.value};
}

}  // namespace dt
