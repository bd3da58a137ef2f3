#include "launcher/environment/job_facts.h"

#include "base/format.h"
#include "base/text.h"
#include "choices/strategy_name.h"
#include "launcher/config/external_cluster.h"
#include "launcher/plan/role_ports.h"

#include <algorithm>
#include <optional>

namespace dt {

namespace {

/// Where others start some tasks: the whole cluster, and rank 0's address. The rendezvous is left
/// out, since it knows the tasks of this launcher alone.
void set_partial_cluster(JobFacts& facts, const ExternalLayout& external_layout) {
  facts.cluster = external_layout.cluster;
  facts.rendezvous.clear();
  facts.master_address = split_address(external_layout.rank_0_address).host;
  facts.master_port = port_of(external_layout.rank_0_address);
  facts.jax_port = facts.master_port;
}

Environment strategy_variables(const RunConfig& config) {
  Environment variables;
  if (config.strategy) variables["DTRAIN_STRATEGY"] = strategy_text(*config.strategy);
  if (!config.devices.empty()) variables["DTRAIN_DEVICES"] = config.devices;
  if (!config.cross_device_op.empty()) variables["DTRAIN_CROSS_DEVICE_OP"] = config.cross_device_op;
  if (config.bytes_per_pack > 0)
    variables["DTRAIN_BYTES_PER_PACK"] = format("{}", config.bytes_per_pack);
  if (config.strategy_timeout > Duration::zero())
    variables["DTRAIN_STRATEGY_TIMEOUT"] = duration_text(config.strategy_timeout);
  if (config.device_memory > 0)
    variables["DTRAIN_DEVICE_MEMORY"] = format("{}", config.device_memory);
  if (config.soft_placement) variables["DTRAIN_SOFT_PLACEMENT"] = "1";
  if (config.log_placement) variables["DTRAIN_LOG_PLACEMENT"] = "1";
  if (config.communication)
    variables["DTRAIN_COMMUNICATION"] = communication_text(*config.communication);
  if (config.ps_replicas) variables["DTRAIN_PS_REPLICAS"] = format("{}", *config.ps_replicas);
  if (config.ps_mode) variables["DTRAIN_PS_MODE"] = server_mode_text(*config.ps_mode);
  return variables;
}

/// Returns the number of GPUs that each rank alone sees; 0 where ranks differ, or see all.
int own_gpus(const RunConfig& config, const Plan& plan) {
  const int by_option = config.placement.gpu_bind == GpuBind::rank ? 1 : 0;
  std::optional<int> all;
  for (const Role& role : plan.roles) {
    if (!role.ranked) continue;
    const auto& gpus = role.resources.gpus;
    const int own = !gpus ? by_option : gpus->shares() ? 1 : gpus->whole;
    if (all.value_or(own) != own) return 0;
    all = own;
  }
  return all.value_or(0);
}

bool some_share_gpus(const Plan& plan) {
  return std::ranges::any_of(plan.roles, [](const Role& role) {
    return role.resources.gpus && role.resources.gpus->shares();
  });
}

}  // namespace

JobFacts job_facts(const RunConfig& config, const Plan& plan, const TaskTable& table,
                   const RendezvousFacts& rendezvous, const std::vector<Prepared>& prepared) {
  std::vector<std::vector<uint16_t>> ports;
  for (const Prepared& answer : prepared)
    ports.push_back(answer.ports);
  const auto take_port = [&ports](int agent) {
    std::vector<uint16_t>& left = ports[static_cast<size_t>(agent)];
    const uint16_t port = left.back();
    left.pop_back();
    return port;
  };
  JobFacts facts = {.job = table.job,
                    .generation = table.generation,
                    .restarts_max = config.restarts.max,
                    .token = rendezvous.token.text(),
                    .rendezvous = rendezvous.address.text(),
                    .master_address = table.tasks.front().addresses.front(),
                    .horovod = rendezvous.horovod,
                    .own_ports = config.port_range.has_value() && !plan.is_partial(),
                    .cluster = {},
                    .env_sets = config.env_sets,
                    .shape = job_shape_of(plan),
                    .dump_stacks = config.dump_stacks,
                    .strategy = strategy_variables(config),
                    .own_gpus = own_gpus(config, plan),
                    .gpu_share = config.placement.gpu_share || some_share_gpus(plan),
                    .slurm_job = config.slurm_job};
  if (plan.is_partial()) {
    set_partial_cluster(facts, *plan.external_layout);
    return facts;
  }
  facts.master_port = take_port(plan.tasks.front().agent);
  facts.jax_port = take_port(plan.tasks.front().agent);
  if (plan.external_layout) {
    facts.cluster = plan.external_layout->cluster;
    return facts;
  }
  for (const TaskEntry& task : table.tasks) {
    const auto planned = std::ranges::find(plan.tasks, task.id, &Task::id);
    const auto fixed = planned == plan.tasks.end() ? std::nullopt : fixed_port(plan, *planned);
    facts.cluster.jobs[task.id.role][task.id.index] =
        host_port(task.addresses.front(), fixed ? *fixed : take_port(task.agent));
  }
  return facts;
}

}  // namespace dt
