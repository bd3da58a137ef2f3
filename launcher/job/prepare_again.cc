#include "launcher/job/prepare_again.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/job/generations/restart_text.h"
#include "launcher/job/start/prepare.h"
#include "launcher/job/start/rendezvous.h"
#include "launcher/job/sync/tree_orders.h"
#include "launcher/plan/job_plan.h"
#include "launcher/plan/role_binding.h"
#include "launcher/process/sweep.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dt {

namespace {

/// A longer wait for earlier processes is logged.
constexpr Duration quiet_settling = seconds(10);

std::vector<std::string> failures_of(const std::vector<Prepared>& answers) {
  std::vector<std::string> failures;
  for (const Prepared& answer : answers)
    failures.push_back(answer.failure);
  return failures;
}

/// Hosts that were probed before reach the rendezvous as they did.
void keep_relays(const ProbedHosts& probed, const Plan& plan, Reach& reach) {
  for (size_t agent = 0; agent < plan.hosts.size(); ++agent) {
    const auto at = std::ranges::find_if(
        probed.hosts, [&](const Host& host) { return host.same_as(plan.hosts[agent].host); });
    if (at == probed.hosts.end()) continue;
    reach.hosts[agent].relay =
        probed.reach.hosts[static_cast<size_t>(at - probed.hosts.begin())].relay;
  }
}

/// A restart on its way.
class Restarting {
 public:
  Restarting(const RestartParts& parts, JobGeneration& generation, Time time_limit)
      : parts_(parts),
        generation_(generation),
        time_limit_(time_limit),
        gathering_(parts.gathering, generation.plan, generation.history, time_limit) {}
  Result<> run(const WorldRestart& restart, const Outcome& failed);

 private:
  TaskTable table() const;
  Time now() const { return parts_.gathering.loop.now(); }
  Time settled_at() const;
  Result<> wait_until_settled();
  Result<> send_trees();
  Result<bool> prepare_hosts();
  Result<bool> find_reach(const std::vector<Prepared>& answers, const AgentGroup::Awaited& awaited);
  std::vector<std::string> cut_off_texts(const Reach& reach) const;
  std::vector<std::string> binding_faults() const;
  std::vector<HostResources> resources_of_hosts() const;
  Result<> bind_tasks();

  const RestartParts& parts_;
  JobGeneration& generation_;
  Time time_limit_;
  Gathering gathering_;
  std::string line_;  ///< stands between the generations in the files of --output-dir
};

TaskTable Restarting::table() const {
  return task_table(generation_.plan, parts_.record.job, generation_.reach,
                    generation_.facts.generation);
}

/// When no process of an earlier agent is left on a host that has returned. That agent ends its
/// tasks once it has not heard from here for --dead-after, a heartbeat later than this side at
/// most.
Time Restarting::settled_at() const {
  const Duration settling =
      2 * parts_.gathering.config.heartbeat + Sweep::usual_patience + seconds(1);
  Time at = now();
  const auto& lost_since = generation_.history.lost_since;
  for (const PlannedHost& planned : generation_.plan.hosts) {
    const auto lost = lost_since.find(planned.host.name);
    if (lost != lost_since.end()) at = std::max(at, lost->second + settling);
  }
  return at;
}

Result<> Restarting::wait_until_settled() {
  const Time until = settled_at();
  const Duration left = until - now();
  if (left > quiet_settling) {
    parts_.gathering.log.print("in {} no earlier process can be left on the hosts that were lost",
                               duration_text(std::chrono::ceil<seconds>(left)));
  }
  return gathering_.wait(until);
}

/// Hosts that were never probed need it. Then all are probed: the address of a host is the one that
/// all others reach. Returns false when a fresh host has to give way, since others cannot reach it.
Result<bool> Restarting::find_reach(const std::vector<Prepared>& answers,
                                    const AgentGroup::Awaited& awaited) {
  const Plan& plan = generation_.plan;
  ProbedHosts& probed = generation_.probed;
  if (!is_probed(probed, plan)) {
    Reach reach = TRY(parts_.find_reach(plan, answers, awaited));
    if (gathering_.give_way(cut_off_texts(reach))) return false;
    for (const std::string& warning : reach.warnings) {
      if (std::ranges::count(probed.reach.warnings, warning) == 0)
        parts_.gathering.log.warn("{}", warning);
    }
    keep_relays(probed, plan, reach);
    probed = {std::move(reach), hosts_of(plan)};
  }
  generation_.reach = reach_of_plan(probed, plan);
  return true;
}

/// Returns why tasks of fresh hosts and of the others could not talk, by agent.
std::vector<std::string> Restarting::cut_off_texts(const Reach& reach) const {
  std::vector<std::string> texts(reach.hosts.size());
  if (!parts_.gathering.config.restarts.size) return texts;
  const auto name_of = [this](size_t agent) { return generation_.plan.hosts[agent].host.name; };
  for (size_t agent = 0; agent < reach.hosts.size(); ++agent) {
    for (const int32_t number : reach.hosts[agent].cut_off) {
      const auto other = static_cast<size_t>(number);
      if (gathering_.is_fresh(agent) == gathering_.is_fresh(other)) continue;
      const size_t fresh = gathering_.is_fresh(agent) ? agent : other;
      texts[fresh] =
          format("{} cannot reach {}, so it is not used", name_of(other), name_of(agent));
    }
  }
  return texts;
}

/// Returns why fresh hosts have too few resources for their tasks, by agent.
std::vector<std::string> Restarting::binding_faults() const {
  std::vector<std::string> faults;
  const auto resources = resources_of_hosts();
  for (size_t agent = 0; agent < resources.size(); ++agent) {
    const auto bound =
        bind_planned(parts_.gathering.config.placement, generation_.plan, agent, resources[agent]);
    faults.push_back(bound ? "" : bound.error().message);
  }
  return faults;
}

/// Returns the resources of the plan's hosts; empty: no task is bound.
std::vector<HostResources> Restarting::resources_of_hosts() const {
  if (generation_.need == ResourceNeed::nothing) return {};
  return with_forwarded_devices(parts_.gathering.agents.known_resources(), generation_.forwarded);
}

Result<> Restarting::bind_tasks() {
  const std::vector<Host> hosts = hosts_of(generation_.plan);
  const bool same_hosts = hosts == hosts_of(parts_.record.plan);
  generation_.bindings = TRY(
      bind_plan(parts_.gathering.config.placement, generation_.plan, hosts, resources_of_hosts()));
  if (!same_hosts) log_bindings(generation_.bindings, parts_.gathering.log);
  return {};
}

/// Hosts that are new get the tree of --sync.
Result<> Restarting::send_trees() {
  if (parts_.code == nullptr) return {};
  TRY(parts_.code->give(generation_.plan));
  return parts_.code->wait(generation_.plan, {time_limit_, parts_.gathering.interrupted});
}

/// Returns false when a host was lost meanwhile.
Result<bool> Restarting::prepare_hosts() {
  TRY(wait_until_settled());
  const RunConfig& config = parts_.gathering.config;
  AgentGroup& agents = parts_.gathering.agents;
  Plan& plan = generation_.plan;
  for (const PlannedHost& planned : plan.hosts)
    generation_.history.lost_since.erase(planned.host.name);
  TRY(check_launcher_files(config, plan));
  TRY(send_trees());
  if (parts_.code != nullptr && parts_.code->has_failed(plan)) {
    const std::vector<std::string> why = parts_.code->failures(plan);
    if (gathering_.give_way(why)) return false;
    std::vector<Prepared> answers(why.size());
    add_failures(answers, why);
    return fail(Errc::refused,
                preparation_failure(plan, std::vector<Prepare>(why.size()), answers)->reason);
  }
  generation_.start_deadline = now() + config.start_timeout;
  const AgentGroup::Awaited awaited = {std::min(generation_.start_deadline, time_limit_),
                                       parts_.gathering.interrupted};
  const auto any_lost = [&](const Error& why) {
    return why.code == Errc::unreachable &&
           std::ranges::count(agents.states(), AgentState::lost) > 0;
  };
  const bool probe = needs_probe(plan, config.networks) && !is_probed(generation_.probed, plan);
  auto orders = prepare_orders(config, plan,
                               {.token = generation_.token,
                                .job = parts_.record.job,
                                .generation = generation_.facts.generation},
                               generation_.forwarded, probe);
  if (parts_.code != nullptr) TRY(place_in_trees(orders, config, plan, *parts_.code));
  auto answers = agents.prepare(orders, awaited);
  if (!answers && any_lost(answers.error())) return false;
  if (!answers) return tl::unexpected(answers.error());
  if (parts_.code != nullptr) add_failures(*answers, parts_.code->failures(plan));
  if (gathering_.give_way(failures_of(*answers)) || gathering_.give_way(binding_faults()))
    return false;
  if (const auto failure = preparation_failure(plan, orders, *answers))
    return fail(Errc::refused, failure->reason);
  std::ranges::move(drop_failed_spares(agents, parts_.gathering.log, plan, *answers),
                    std::back_inserter(generation_.history.lost));
  const auto found = find_reach(*answers, awaited);
  if (!found && any_lost(found.error())) return false;
  if (!found) return tl::unexpected(found.error());
  if (!*found) return false;
  TRY(bind_tasks());
  if (parts_.code != nullptr) generation_.trees = parts_.code->trees(plan);
  const TaskTable its_table = table();
  parts_.rendezvous.set_table(its_table);
  if (generation_.facts.horovod)
    parts_.rendezvous.set_horovod_sources(task_sources(plan, generation_.reach, agents.hellos()));
  generation_.facts = job_facts(
      config, plan, its_table,
      {parts_.rendezvous.address(), generation_.token, generation_.facts.horovod}, *answers);
  TRY(parts_.output.begin_generation(plan, line_));
  parts_.record.planned(plan, parts_.record.job);
  return true;
}

Result<> Restarting::run(const WorldRestart& restart, const Outcome& failed) {
  // Members of the last generation are refused from now on.
  ++generation_.facts.generation;
  parts_.rendezvous.set_table(table());
  TRY(gathering_.plan_now());
  NextPlan planned = gathering_.planned();
  // Where the size follows the hosts, these are read and gathered first.
  planned.plan = parts_.gathering.config.restarts.size ? Plan() : generation_.plan;
  const std::string why = restart_text(restart, failed, planned);
  parts_.gathering.log.print("{}", why);
  line_ = "dtrain: " + why;
  if (failed.failure) gathering_.keep_out(failed.failure->host, parts_.random());
  TRY(gathering_.try_lost_hosts());
  TRY(gathering_.wait(now() + restart.delay));
  for (int tries = 0; !gathering_.is_late(tries); ++tries) {
    TRY(gathering_.gather());
    const bool ready = TRY(prepare_hosts());
    if (ready) return {};
  }
  return fail(Errc::unreachable,
              "hosts were lost or failed again and again" + gathering_.failures_text());
}

}  // namespace

std::vector<Host> drop_failed_spares(AgentGroup& agents, Log& log, Plan& plan,
                                     std::vector<Prepared>& prepared) {
  const std::vector<AgentState> states = agents.states();
  std::vector<Host> dropped;
  std::vector<PlannedHost> hosts;
  std::vector<Prepared> answers;
  for (size_t agent = 0; agent < states.size(); ++agent) {
    PlannedHost& host = plan.hosts[agent];
    const bool is_lost = states[agent] != AgentState::connected;
    const std::string& why = is_lost ? agents.why_lost(agent) : prepared[agent].failure;
    if (!host.tasks.empty() || (!is_lost && why.empty())) {
      hosts.push_back(std::move(host));
      answers.push_back(std::move(prepared[agent]));
      continue;
    }
    log.warn("{}: {}; the job goes on without this spare", host.host.name, why);
    dropped.push_back(std::move(host.host));
  }
  plan.hosts = std::move(hosts);
  prepared = std::move(answers);
  agents.retain(plan);
  return dropped;
}

Result<> prepare_again(const RestartParts& parts, JobGeneration& generation,
                       const WorldRestart& restart, const Outcome& failed, Time time_limit) {
  return Restarting(parts, generation, time_limit).run(restart, failed);
}

}  // namespace dt
