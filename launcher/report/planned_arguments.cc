#include "launcher/report/planned_arguments.h"

#include "base/format.h"
#include "launcher/agent/task_macros.h"
#include "launcher/config/words/macro_words.h"

namespace dt {
namespace {

ClusterSpec planned_cluster(const Plan& plan) {
  if (plan.external_layout) return plan.external_layout->cluster;
  ClusterSpec cluster;
  for (const Task& task : plan.tasks) {
    const std::string& host = plan.hosts[static_cast<size_t>(task.agent)].host.name;
    cluster.jobs[task.id.role][task.id.index] = format("<{}>:{}", host, unknown_port);
  }
  return cluster;
}

}  // namespace

PlannedWords::PlannedWords(const Plan& plan, const RunConfig& config)
    : plan_(plan), config_(config) {
  launch_.pass_local_rank = config.pass_local_rank;
  if (config.no_macros) return;
  launch_.cluster = planned_cluster(plan);
  launch_.macros = {.world_size = plan.world_size, .master_address = "<master>", .job_id = "<job>"};
}

std::vector<std::string> PlannedWords::changed(const Task& task) const {
  const Role* const role = find_role(plan_.roles, task.id.role);
  const bool own = role != nullptr && !role->command.empty();
  const std::vector<std::string>& written = own ? role->command : config_.command;
  std::vector<std::string> words = command_of_task(
      written, launch_, {.id = task.id, .rank = task.rank, .local_rank = task.local_rank});
  return words == written ? std::vector<std::string>() : words;
}

}  // namespace dt
