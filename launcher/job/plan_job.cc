#include "launcher/job/plan_job.h"

#include "launcher/environment/cluster_variables.h"
#include "launcher/environment/environment.h"
#include "launcher/environment/slurm_environment.h"
#include "launcher/job/generations/next_plan.h"
#include "launcher/job/own_names.h"
#include "launcher/plan/job_plan.h"
#include "launcher/plan/resolve_hosts.h"
#include "launcher/plan/strategy_check.h"

#include <utility>
#include <vector>

namespace dt {

namespace {

/// Checks the options that name tasks or ranks of the plan.
Result<> check_with_plan(JobContext& context, const Plan& plan) {
  TRY(check_targets(context.config, plan));
  TRY(check_strategy(context.config, plan));
  const std::vector<std::string> warnings = TRY(check_cluster_variables(context.config, plan));
  context.warn(warnings);
  return {};
}

/// Removes the spares that are lost from the hosts and their resources, if these were needed.
void drop_lost_spares(const JobContext& context, ResolvedHosts& resolved,
                      std::vector<HostResources>& resources) {
  if (resources.empty()) return;
  const std::vector<AgentState> states = context.agents.states();
  for (size_t agent = states.size(); agent-- > 0;) {
    if (states[agent] != AgentState::lost) continue;
    const auto at = static_cast<std::ptrdiff_t>(agent);
    context.runtime.log().warn("{}: {}; the job goes on without this spare",
                               resolved.hosts[agent].name, context.agents.why_lost(agent));
    resolved.hosts.erase(resolved.hosts.begin() + at);
    resources.erase(resources.begin() + at);
    --resolved.spares;
  }
}

}  // namespace

Result<PlannedJob> plan_job(JobContext& context, const Environment& environment) {
  const RunConfig& config = context.config;
  context.warn(unset_settings(environment, config.environment));
  Environment forwarded =
      forwarded_environment(environment, config.environment, config.environment_excluded);
  ResolvedHosts resolved = TRY(resolve_hosts(config, own_names(config)));
  const std::vector<Host>& hosts = resolved.hosts;
  context.warn(resolved.warnings);

  const ResourceNeed need = resource_need(config, hosts);
  if (!config.dry_run || need != ResourceNeed::nothing) {
    TRY(context.agents.connect(hosts, resolved.spares));
  }
  // Without a need the agents start while the launcher prepares everything else.
  auto reported = TRY(context.agents.resources(need, context.awaited));
  drop_lost_spares(context, resolved, reported);
  auto resources = with_forwarded_devices(std::move(reported), forwarded);
  Plan plan = TRY(job_plan(config, resolved, resources));
  remove_batch_tasks(forwarded, config, plan);
  TRY(check_with_plan(context, plan));
  context.warn(idle_host_warnings(resolved, plan));
  context.warn(useless_spare_warnings(plan, config.restarts.spares));
  Bindings bindings = TRY(bind_plan(config.placement, plan, hosts, resources));
  context.warn(resource_warnings(hosts, resources));
  // A scheduler gives each agent the value of its own host.
  if (context.agents.dialed_hosts() == nullptr)
    context.warn(own_device_warnings(hosts, environment, forwarded));
  log_bindings(bindings, context.runtime.log());
  return PlannedJob{std::move(forwarded), std::move(plan), std::move(bindings), hosts,
                    std::move(resources)};
}

}  // namespace dt
