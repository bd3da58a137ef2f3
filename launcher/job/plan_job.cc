#include "launcher/job/plan_job.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/environment/cluster_variables.h"
#include "launcher/environment/environment.h"
#include "launcher/environment/slurm_environment.h"
#include "launcher/job/generations/next_plan.h"
#include "launcher/job/own_names.h"
#include "launcher/plan/job_plan.h"
#include "launcher/plan/resolve_hosts.h"
#include "launcher/plan/role_binding.h"
#include "launcher/plan/role_ports.h"
#include "launcher/plan/strategy_check.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dt {

namespace {

/// The processes of a job would not be in the container that its user wants.
Result<> refuse_images(const RunConfig& config) {
  if (config.no_image) return {};
  const auto named = std::ranges::find_if(
      config.roles, [&config](const Role& role) { return !image_of(config, role).empty(); });
  if (named == config.roles.end()) return {};
  return fail(Errc::input,
              format("role {}: dtrain starts no containers, so that image \"{}\" is only for "
                     "dtrain export; --no-image runs the job on its hosts",
                     named->name, printable(image_of(config, *named))));
}

/// Checks the options that name tasks or ranks of the plan.
Result<> check_with_plan(JobContext& context, const Plan& plan) {
  TRY(check_targets(context.config, plan));
  TRY(check_strategy(context.config, plan));
  TRY(check_ports(plan));
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

/// A plan, and the resources of the hosts that it was made from.
struct PlanOfHosts {
  Plan plan;
  std::vector<Host> hosts;
  std::vector<HostResources> resources;  ///< of `hosts`; empty: not needed
};

/// Waits for all nodes, and gives the hosts the names that these have.
Result<> name_nodes(JobContext& context, ResolvedHosts& resolved) {
  TRY(context.agents.await_hellos(context.awaited));
  const bool without_rank = !context.config.nodes->rank;
  const auto names = context.agents.dialed_hosts()->names(without_rank);
  for (size_t i = 0; i < names.size(); ++i) {
    resolved.hosts[i + 1].name = names[i];
    if (resolved.plan) resolved.plan->hosts[i + 1].host.name = names[i];
  }
  return {};
}

/// The variables of a node are its own: it gets those that the user sets, and the PATH of node 0
/// counts there.
Environment forwarded_to_nodes(const Environment& environment, const RunConfig& config) {
  Environment forwarded = forwarded_environment(environment, config.environment, {"*"});
  const auto path = environment.find("PATH");
  if (path != environment.end()) forwarded.insert(*path);
  return forwarded;
}

/// Returns the resources of this node for all of them: a dry run awaits no other node.
Result<std::vector<HostResources>> resources_as_here(JobContext& context,
                                                     const ResolvedHosts& resolved,
                                                     ResourceNeed need) {
  TRY(context.agents.connect({resolved.hosts.front()}, 0));
  const auto own = TRY(context.agents.resources(need, context.awaited));
  context.warn(
      {"--dry-run: other nodes are not asked, and are shown with the CPUs and GPUs of this one"});
  return std::vector<HostResources>(resolved.hosts.size(), own.front());
}

/// Plans the job on all of its hosts. The agents start, unless a dry run does not need them.
Result<PlanOfHosts> plan_on_all(JobContext& context, ResolvedHosts& resolved, ResourceNeed need,
                                const Environment& forwarded) {
  const RunConfig& config = context.config;
  if (config.nodes && config.dry_run && need != ResourceNeed::nothing) {
    auto same = TRY(resources_as_here(context, resolved, need));
    auto alike = with_forwarded_devices(std::move(same), forwarded);
    Plan plan = TRY(job_plan(config, resolved, alike));
    return PlanOfHosts{std::move(plan), resolved.hosts, std::move(alike)};
  }
  if (!config.dry_run || need != ResourceNeed::nothing) {
    TRY(context.agents.connect(resolved.hosts, resolved.spares));
    if (config.nodes) TRY(name_nodes(context, resolved));
  }
  // Without a need the agents start while the launcher prepares everything else.
  auto reported = TRY(context.agents.resources(need, context.awaited));
  drop_lost_spares(context, resolved, reported);
  auto resources = with_forwarded_devices(std::move(reported), forwarded);
  Plan plan = TRY(job_plan(config, resolved, resources));
  return PlanOfHosts{std::move(plan), resolved.hosts, std::move(resources)};
}

/// Plans a job whose size follows its hosts on those that answer.
Result<PlanOfHosts> plan_on_some(JobContext& context, const ResolvedHosts& resolved,
                                 PlannedJob& job) {
  const GatheringParts parts = context.gathering_parts(job.need);
  if (const auto& range = context.config.restarts.cooldown) job.history.cooldown.emplace(*range);
  Plan plan;
  plan.roles = resolved.roles;
  TRY(context.agents.connect(resolved.hosts, resolved.hosts.size(), job.need));
  for (const Host& host : resolved.hosts)
    plan.hosts.push_back({.host = host});
  // --timeout begins with the first launch.
  TRY(Gathering(parts, plan, job.history, Time::max()).gather());
  if (context.config.restarts.max == 0) plan.hosts.resize(plan.host_count());
  context.agents.retain(plan);
  context.begin_start();
  std::vector<Host> hosts = hosts_of(plan);
  std::vector<HostResources> resources;
  if (job.need != ResourceNeed::nothing)
    resources = with_forwarded_devices(context.agents.known_resources(), job.forwarded);
  return PlanOfHosts{std::move(plan), std::move(hosts), std::move(resources)};
}

}  // namespace

Result<PlannedJob> plan_job(JobContext& context, const Environment& environment) {
  const RunConfig& config = context.config;
  TRY(refuse_images(config));
  context.warn(unset_settings(environment, config.environment));
  PlannedJob job = {.forwarded = config.nodes
                                     ? forwarded_to_nodes(environment, config)
                                     : forwarded_environment(environment, config.environment,
                                                             config.environment_excluded)};
  ResolvedHosts resolved = TRY(resolve_hosts(config, context.own_names));
  context.warn(resolved.warnings);
  job.need = resource_need(config, resolved.hosts);
  const bool is_sized = config.restarts.size && !config.dry_run;
  auto [plan, hosts, resources] =
      TRY(is_sized ? plan_on_some(context, resolved, job)
                   : plan_on_all(context, resolved, job.need, job.forwarded));
  job.plan = std::move(plan);
  remove_batch_tasks(job.forwarded, config, job.plan);
  TRY(check_with_plan(context, job.plan));
  if (!is_sized) context.warn(idle_host_warnings(resolved, job.plan));
  context.warn(shown_ranks_warnings(config.shown_local_ranks, job.plan));
  context.warn(useless_spare_warnings(job.plan, config.restarts.spares));
  job.bindings = TRY(bind_plan(config.placement, job.plan, hosts, resources));
  context.warn(resource_warnings(hosts, resources));
  context.warn(memory_warnings(job.plan, hosts, resources));
  // A scheduler gives each agent the value of its own host.
  if (context.agents.dialed_hosts() == nullptr)
    context.warn(own_device_warnings(hosts, environment, job.forwarded));
  log_bindings(job.bindings, context.runtime.log());
  return job;
}

}  // namespace dt
