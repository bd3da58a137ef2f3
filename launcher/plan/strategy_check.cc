#include "launcher/plan/strategy_check.h"

#include "base/format.h"

#include <algorithm>

namespace dt {

namespace {

/// True when the role runs dtrain's own parameter server, or servers that keep copies.
bool serves_parameters(const RunConfig& config, const Role& role) {
  const std::vector<std::string>& words = role.command;
  const bool keeps_copies = role.name == "ps" && config.ps_replicas.value_or(1) > 1;
  return keeps_copies || (words.size() >= 2 && words[0] == "self" && words[1] == "ps");
}

/// True if the job has several ranks, or may have them when it starts again.
bool may_have_several_ranks(const RunConfig& config, const Plan& plan) {
  return plan.world_size > 1 || (config.restarts.size && config.restarts.size->ranks_max != 1);
}

/// Returns why a restart of one worker cannot help; empty: it can.
std::string needs_all_workers(const RunConfig& config, const Plan& plan) {
  if (config.strategy == StrategyName::multi_worker_mirrored) {
    return "workers of --strategy multi_worker_mirrored train by collectives, which end when one "
           "of them dies; use --strategy parameter_server with --ps-mode async, or start the job "
           "again from its checkpoint";
  }
  const ServerMode mode = config.ps_mode.value_or(ServerMode());
  const bool all =
      mode.needs_all() || (mode.kind == ServerMode::Kind::sync && mode.count == plan.world_size);
  if (config.strategy != StrategyName::parameter_server || !all) return {};
  return format(
      "--ps-mode {} needs every worker, and ends when one of them dies; use --ps-mode async, "
      "bounded:N, or sync:N of fewer workers",
      server_mode_text(mode));
}

/// A restarted rank has no collectives, and a restarted server has no values of others.
Result<> check_restarts(const RunConfig& config, const Plan& plan) {
  const std::string useless =
      may_have_several_ranks(config, plan) ? needs_all_workers(config, plan) : "";
  for (const Role& role : plan.roles) {
    if (role.restarts == 0) continue;
    const std::string option = restarts_text(role);
    if (role.ranked && !useless.empty())
      return fail(Errc::input, format("{}: {}", option, useless));
    const auto tasks = std::ranges::count_if(
        plan.tasks, [&](const Task& task) { return task.id.role == role.name; });
    if (serves_parameters(config, role) && tasks > 1) {
      return fail(Errc::input,
                  format("{}: the job has {} parameter servers, and a restarted one would have "
                         "values of another step than the others; use one server, or start the "
                         "job again from its checkpoints",
                         option, tasks));
    }
  }
  return {};
}

}  // namespace

Result<> check_strategy(const RunConfig& config, const Plan& plan) {
  const ServerMode mode = config.ps_mode.value_or(ServerMode());
  if (mode.kind == ServerMode::Kind::sync && mode.count > plan.world_size) {
    return fail(Errc::input, format("--ps-mode {}: the job has {} workers; give sync:1 to sync:{}",
                                    server_mode_text(mode), plan.world_size, plan.world_size));
  }
  const Role* const ps = find_role(plan.roles, "ps");
  const int servers_count = ps == nullptr ? 0 : ps->count;
  if (config.ps_replicas.value_or(1) > servers_count && config.ps_replicas.value_or(1) > 1) {
    return fail(Errc::input, format("--ps-replicas {}: the job has {} ps; add --role ps=2",
                                    *config.ps_replicas, servers_count));
  }
  TRY(check_restarts(config, plan));
  if (!config.strategy) return {};
  const std::string_view name = strategy_text(*config.strategy);
  const bool servers = ps != nullptr;
  if (*config.strategy == StrategyName::parameter_server && !servers) {
    return fail(Errc::input, format("--strategy {}: the job has no ps; add --role ps=1", name));
  }
  if (!is_of_one_process(*config.strategy) || !may_have_several_ranks(config, plan)) return {};
  const StrategyName meant =
      servers ? StrategyName::parameter_server : StrategyName::multi_worker_mirrored;
  return fail(Errc::input,
              format("--strategy {}: it trains in one process, and the job {}, each of which would "
                     "train alone; use --strategy {}",
                     name,
                     plan.world_size > 1 ? format("has {} workers", plan.world_size)
                                         : std::string("may have several workers"),
                     strategy_text(meant)));
}

}  // namespace dt
