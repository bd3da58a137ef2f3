#include "launcher/job/start/launch_orders.h"

#include "base/format.h"
#include "launcher/console/task_input.h"
#include "launcher/environment/cluster_variables.h"
#include "launcher/job/start/prepare.h"
#include "launcher/protocol/message.h"

#include <map>
#include <string>

namespace dt {

namespace {

std::map<std::string, Environment> environments_of(const std::vector<const Role*>& roles) {
  std::map<std::string, Environment> environments;
  for (const Role* role : roles) {
    if (!role->environment.empty()) environments[role->name] = role->environment;
  }
  return environments;
}

TaskLaunch order_of_task(const RunConfig& config, const Plan& plan, const LaunchFacts& facts,
                         size_t at) {
  const Task& task = plan.tasks[at];
  const Binding& binding = facts.bindings.tasks[at];
  Environment environment = task_environment(facts.job, plan, task);
  environment.insert(binding.environment.begin(), binding.environment.end());
  return {.id = task.id,
          .rank = task.rank,
          .local_rank = task.local_rank,
          .environment = std::move(environment),
          .wants_input = wants_input(task, config.stdin_target),
          .cpus = binding.cpus,
          .memory_max = binding.memory_max};
}

/// Adds what a task knows of the tree of --sync on its host, and of the setup there.
void add_tree(Environment& environment, const HostTree& tree, const RunConfig& config,
              const std::string& path) {
  if (config.sync) environment["DTRAIN_CODE_DIR"] = tree.folder;
  if (!tree.setup_folder.empty()) environment["DTRAIN_SETUP_DIR"] = tree.setup_folder;
  if (tree.has_bin) environment["PATH"] = tree.with_setup(path);
}

}  // namespace

std::vector<TaskPlace> task_places(const Plan& plan, const LaunchFacts& facts) {
  std::vector<TaskPlace> places;
  for (size_t at = 0; at < plan.tasks.size(); ++at) {
    const std::string* const address = facts.job.cluster.address_of(plan.tasks[at].id);
    const Environment& bound = facts.bindings.tasks[at].environment;
    const auto gpus = bound.find("CUDA_VISIBLE_DEVICES");
    places.push_back({.address = address == nullptr ? "" : *address,
                      .gpus = gpus == bound.end() ? "" : gpus->second});
  }
  return places;
}

Result<std::vector<Bytes>> launch_orders(const RunConfig& config, const Plan& plan,
                                         const LaunchFacts& facts) {
  Launch launch = {.forwarded = facts.forwarded,
                   .common = common_environment(facts.job, plan),
                   .cluster = {},
                   .tasks = {},
                   .role_environments = {},
                   .error_files = facts.job.env_sets.contains(EnvSet::torch),
                   .pass_local_rank = config.pass_local_rank,
                   .merge_stderr = config.merge_stderr,
                   .line_buffer = !config.no_line_buffer,
                   .results = config.result_dir.has_value(),
                   .excluded = config.environment_excluded,
                   .own_variables = config.nodes.has_value()};
  TRY(add_cluster_variables(launch, config, plan, facts.job));
  std::vector<Bytes> orders;
  for (const PlannedHost& host : plan.hosts) {
    const size_t agent = orders.size();
    const HostReach& reach = facts.reach.hosts[agent];
    launch.interface = reach.interface;
    launch.relay = reach.relay;
    // The variables of other roles stay here: a value may be a secret, and hosts have other users.
    launch.role_environments = environments_of(plan.roles_on(host));
    launch.tasks.clear();
    for (const size_t at : host.tasks)
      launch.tasks.push_back(order_of_task(config, plan, facts, at));
    if (!facts.trees.empty()) {
      const HostTree& tree = facts.trees[agent];
      if (launch.macros) launch.macros->code_dir = tree.folder;
      for (TaskLaunch& task : launch.tasks) {
        const Role& role = *find_role(plan.roles, task.id.role);
        add_tree(task.environment, tree, config, path_of_tasks(facts.forwarded, role));
      }
    }
    orders.push_back(encode(launch));
    if (orders.back().size() > MessageAssembler::message_bytes_max) {
      return fail(Errc::input,
                  format("{}: {} bytes of environments for {} tasks are too many; at most {}",
                         host.host.name, orders.back().size(), launch.tasks.size(),
                         MessageAssembler::message_bytes_max));
    }
  }
  return orders;
}

}  // namespace dt
