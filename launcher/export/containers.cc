#include "launcher/export/containers.h"

#include "base/format.h"
#include "launcher/agent/task_macros.h"
#include "launcher/environment/cluster_variables.h"
#include "launcher/environment/env_sets.h"
#include "launcher/environment/environment.h"
#include "launcher/environment/job_facts.h"
#include "launcher/plan/job_plan.h"
#include "launcher/plan/strategy_check.h"
#include "launcher/protocol/message.h"
#include "rendezvous/cluster/tf_config.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

namespace dt {
namespace {

Result<std::vector<Role>> counted_roles(const ExportJob& job) {
  const auto is_counted = [](const Role& role) { return role.count > 0; };
  if (std::ranges::all_of(job.config.roles, is_counted)) return job.config.roles;
  if (job.plan) return job.plan->roles;
  return fail(Errc::input,
              "how many processes? the hosts are not asked for their slots; add np = 4 to the "
              "file, or slots to its hosts, such as a:4");
}

/// Fails for names that no host may have. Parts of a name with dots are the caller's.
Result<> check_names(const std::vector<Role>& roles, const ContainerNaming& name_of) {
  constexpr size_t host_bytes_max = 63;
  for (const Role& role : roles) {
    const std::string longest = name_of({role.name, role.count - 1});
    if (longest.find('.') != std::string::npos || longest.size() <= host_bytes_max) continue;
    return fail(Errc::input, format("role {}: {} is too long for the name of a host, which has at "
                                    "most {} bytes; shorten the role's name",
                                    role.name, longest, host_bytes_max));
  }
  return {};
}

Result<Plan> plan_of(std::vector<Role> roles, const ContainerNaming& name_of) {
  std::vector<Host> hosts;
  for (Role& role : roles) {
    role.hosts.clear();
    for (int index = 0; index < role.count; ++index)
      role.hosts.push_back({.name = name_of({role.name, index}), .slots = 1});
    hosts.insert(hosts.end(), role.hosts.begin(), role.hosts.end());
  }
  return make_plan({.hosts = std::move(hosts), .roles = std::move(roles)});
}

/// Checks the options that name tasks or ranks of the plan. Returns warnings.
Result<std::vector<std::string>> check_with_plan(const RunConfig& config, const Plan& plan) {
  TRY(check_targets(config, plan));
  TRY(check_strategy(config, plan));
  return check_cluster_variables(config, plan);
}

/// Returns the configuration with the sets of variables that work in containers. Horovod's set
/// needs a rendezvous, and that of a Slurm job names its nodes.
RunConfig config_of_containers(RunConfig config) {
  for (const EnvSet set : {EnvSet::horovod, EnvSet::slurm_job})
    config.env_sets.erase(set);
  config.slurm_job.clear();
  return config;
}

JobFacts facts_of(const RunConfig& config, const Plan& plan, const ContainerNaming& name_of) {
  TaskTable table = {.job = config.name.empty() ? "job" : config.name, .generation = 1};
  for (const Task& task : plan.tasks) {
    const std::string name = name_of(task.id);
    table.tasks.push_back(
        {.id = task.id, .rank = task.rank, .agent = task.agent, .host = name, .addresses = {name}});
  }
  std::vector<Prepared> prepared(plan.hosts.size());
  for (Prepared& host : prepared)
    host.ports = {container_task_port};
  // They are taken from the end.
  auto& first = prepared[static_cast<size_t>(plan.tasks.front().agent)].ports;
  first.insert(first.end(), {container_jax_port, container_master_port});
  JobFacts facts = job_facts(config, plan, table, RendezvousFacts(), prepared);
  facts.rendezvous.clear();
  facts.own_ports = false;
  return facts;
}

/// Makes the containers of a job from what all of them share.
class ContainerMaker {
 public:
  static Result<ContainerMaker> begin(const ExportJob& job, const RunConfig& config,
                                      const Plan& plan, const ContainerNaming& name_of) {
    ContainerMaker maker(job, config, plan, name_of);
    TRY(add_cluster_variables(maker.launch_, config, plan, maker.facts_));
    if (maker.launch_.macros && job.code) maker.launch_.macros->code_dir = code_target(config);
    if (maker.launch_.tf_config) maker.tf_cluster_ = tf_cluster(maker.launch_.cluster);
    return maker;
  }
  Container make(const Task& task) const;

 private:
  ContainerMaker(const ExportJob& job, const RunConfig& config, const Plan& plan,
                 const ContainerNaming& name_of)
      : job_(job),
        config_(config),
        plan_(plan),
        name_of_(name_of),
        facts_(facts_of(config, plan, name_of)) {
    launch_.pass_local_rank = config.pass_local_rank;
    launch_.common = common_environment(facts_, plan);
    for (const Role& role : plan.roles)
      launch_.role_environments[role.name] = user_variables(config, role).values;
  }
  Environment added(const Task& task) const;

  const ExportJob& job_;
  const RunConfig& config_;
  const Plan& plan_;
  const ContainerNaming& name_of_;
  JobFacts facts_;
  Launch launch_ = {};
  std::string tf_cluster_ = {};  ///< that all tasks see; empty: none
};

/// Returns the variables that dtrain sets, without the ones that hold only in its own jobs.
Environment ContainerMaker::added(const Task& task) const {
  const bool is_filtered = launch_.tf_config && launch_.cluster_filter != ClusterFilter::none;
  const std::string cluster =
      is_filtered ? tf_cluster(seen_by(task.id, launch_.cluster, launch_.cluster_filter))
                  : tf_cluster_;
  Environment added =
      added_environment(launch_.common, task_environment(facts_, plan_, task), cluster, task.id);
  for (const char* const name : {"no_proxy", "DTRAIN_ATTEMPT", "DTRAIN_DUMP_STACKS"})
    added.erase(name);
  if (job_.code) added["DTRAIN_CODE_DIR"] = code_target(config_);
  return added;
}

Container ContainerMaker::make(const Task& task) const {
  const Role& role = *find_role(plan_.roles, task.id.role);
  Container container = {.name = name_of_(task.id),
                         .task = task,
                         .command = role.command.empty() ? config_.command : role.command,
                         .image = image_of(config_, role)};
  const TaskLaunch order = {.id = task.id, .rank = task.rank, .local_rank = task.local_rank};
  container.command = command_of_task(std::move(container.command), launch_, order);
  // Only an agent knows itself.
  if (container.command.front() == "self") container.command.front() = "dtrain";
  for (auto& [name, value] : forwarded_of_task(launch_, order))
    container.environment[name] = value;
  for (const std::string& name : user_variables(config_, role).passed)
    container.environment[name] = std::nullopt;
  // TF_CONFIG has the addresses of all tasks.
  Environment own = added(task);
  for (auto& [name, value] : own) {
    if (yields_to_user(name)) {
      container.environment.try_emplace(name, std::move(value));
    } else {
      container.environment[name] = std::move(value);
    }
  }
  container.environment.try_emplace("PYTHONUNBUFFERED", "1");
  return container;
}

}  // namespace

std::string code_target(const RunConfig& config) {
  const bool is_absolute = config.sync && config.sync->target.value_or("").starts_with('/');
  return is_absolute ? *config.sync->target : "/code";
}

std::string working_folder(const ExportJob& job) {
  std::string chdir = job.config.chdir.value_or("");
  if (job.code && chdir.starts_with('/')) {
    // A folder of the code here is its place in the copy.
    const std::string below =
        std::filesystem::path(chdir).lexically_normal().lexically_relative(job.code->root);
    const bool is_in = !below.empty() && below != ".." && !below.starts_with("../");
    if (is_in) return code_target(job.config) + (below == "." ? "" : "/" + below);
  }
  if (chdir.starts_with('/')) return chdir;
  if (!job.code) return "";
  std::string folder = code_target(job.config);
  for (const std::string& below : {job.code->start, chdir})
    if (!below.empty() && below != ".") folder += "/" + below;
  return folder;
}

UserVariables user_variables(const RunConfig& config, const Role& role) {
  UserVariables variables;
  std::map<std::string, std::optional<std::string>> all;
  for (const EnvironmentSetting& setting : config.environment)
    all.insert_or_assign(setting.name, setting.value);
  for (const auto& [name, value] : role.environment)
    all.insert_or_assign(name, value);
  for (const auto& [name, value] : all) {
    if (value) {
      variables.values.emplace(name, *value);
    } else {
      variables.passed.push_back(name);
    }
  }
  return variables;
}

std::string container_name(const TaskId& id) {
  return format("{}-{}", id.role, id.index);
}

Result<> check_tasks(const ExportJob& job) {
  const Plan plan = TRY(plan_of(job.config.roles, container_name));
  TRY(check_with_plan(job.config, plan));
  return {};
}

Result<Containers> containers_of(const ExportJob& job, const ContainerNaming& name_of) {
  if (job.config.external_cluster) {
    return fail(Errc::input, format("{}: it lays out hosts, and containers have addresses of their "
                                    "own; leave it out, and give roles",
                                    job.config.external_cluster->origin));
  }
  std::vector<Role> roles = TRY(counted_roles(job));
  TRY(check_names(roles, name_of));
  Containers containers;
  containers.plan = TRY(plan_of(std::move(roles), name_of));
  const RunConfig config = config_of_containers(job.config);
  containers.warnings = TRY(check_with_plan(config, containers.plan));
  const ContainerMaker maker = TRY(ContainerMaker::begin(job, config, containers.plan, name_of));
  containers.all.reserve(containers.plan.tasks.size());
  for (const Task& task : containers.plan.tasks)
    containers.all.push_back(maker.make(task));
  return containers;
}

}  // namespace dt
