#include "launcher/environment/slurm_environment.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/host_range.h"

#include <algorithm>
#include <string>
#include <utility>

namespace dt {
namespace {

/// The hosts that have ranks, and how many, in the order of the hosts.
struct Layout {
  std::vector<std::string> names;
  std::vector<int> ranks;
};

Layout layout_of(const Plan& plan) {
  Layout layout;
  for (const PlannedHost& host : plan.hosts) {
    if (host.ranked == 0) continue;
    layout.names.push_back(host.host.name);
    layout.ranks.push_back(host.ranked);
  }
  return layout;
}

/// Returns Slurm's form of counts: "4(x2),1".
std::string counts_text(const std::vector<int>& counts) {
  std::vector<std::string> texts;
  for (auto first = counts.begin(); first != counts.end();) {
    const auto next = std::find_if(first, counts.end(), [first](int n) { return n != *first; });
    const auto repeats = next - first;
    texts.push_back(repeats == 1 ? format("{}", *first) : format("{}(x{})", *first, repeats));
    first = next;
  }
  return join(texts, ",");
}

void add_list(Environment& common, const char* name, std::string list) {
  if (list.size() <= slurm_list_bytes_max) common[name] = std::move(list);
}

}  // namespace

void add_slurm_job(Environment& common, const JobFacts& job, const Plan& plan) {
  common["SLURM_JOB_ID"] = job.slurm_job;
  if (plan.world_size < 2) return;
  const Layout layout = layout_of(plan);
  const std::string nodes = format("{}", layout.names.size());
  const std::string tasks = counts_text(layout.ranks);
  common["SLURM_NNODES"] = nodes;
  common["SLURM_STEP_NUM_NODES"] = nodes;
  common["SLURM_STEP_NUM_TASKS"] = format("{}", plan.world_size);
  add_list(common, "SLURM_STEP_NODELIST", compress_names(layout.names));
  add_list(common, "SLURM_STEP_TASKS_PER_NODE", tasks);
  add_list(common, "SLURM_TASKS_PER_NODE", tasks);
  const int first = layout.ranks.front();
  if (std::ranges::count(layout.ranks, first) == std::ssize(layout.ranks))
    common["SLURM_NTASKS_PER_NODE"] = format("{}", first);
}

void add_slurm_rank(Environment& environment, const JobFacts& job, const Plan& plan,
                    const Task& task) {
  environment["SLURM_NTASKS"] = format("{}", plan.world_size);
  environment["SLURM_NPROCS"] = format("{}", plan.world_size);
  environment["SLURM_PROCID"] = format("{}", task.rank);
  environment["SLURM_LOCALID"] = format("{}", task.local_rank);
  environment["SLURM_NODEID"] =
      format("{}", job.shape.node_of_host[static_cast<size_t>(task.agent)]);
}

void remove_batch_tasks(Environment& forwarded, const RunConfig& config, const Plan& plan) {
  // A batch script has no other variables of tasks that would be forwarded.
  std::vector<std::string> names;
  const bool in_job = config.env_sets.contains(EnvSet::slurm_job);
  if (in_job || config.env_sets.contains(EnvSet::slurm)) names = {"SLURM_NTASKS", "SLURM_NPROCS"};
  if (in_job && plan.world_size > 1)
    names.insert(names.end(), {"SLURM_NNODES", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"});
  for (const std::string& name : names) {
    if (std::ranges::find(config.environment, name, &EnvironmentSetting::name) ==
        config.environment.end())
      forwarded.erase(name);
  }
}

}  // namespace dt
