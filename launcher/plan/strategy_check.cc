#include "launcher/plan/strategy_check.h"

#include "base/format.h"

namespace dt {

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
  if (!config.strategy) return {};
  const std::string_view name = strategy_text(*config.strategy);
  const bool servers = ps != nullptr;
  if (*config.strategy == StrategyName::parameter_server && !servers) {
    return fail(Errc::input, format("--strategy {}: the job has no ps; add --role ps=1", name));
  }
  if (!is_of_one_process(*config.strategy) || plan.world_size <= 1) return {};
  const StrategyName meant =
      servers ? StrategyName::parameter_server : StrategyName::multi_worker_mirrored;
  return fail(Errc::input,
              format("--strategy {}: it trains in one process, and the job has {} workers, each of "
                     "which would train alone; use --strategy {}",
                     name, plan.world_size, strategy_text(meant)));
}

}  // namespace dt
