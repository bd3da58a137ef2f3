#include "launcher/plan/strategy_check.h"

#include "base/format.h"

namespace dt {

Result<> check_strategy(const RunConfig& config, const Plan& plan) {
  if (!config.strategy) return {};
  const std::string_view name = strategy_text(*config.strategy);
  const bool servers = find_role(plan.roles, "ps") != nullptr;
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
