#include "launcher/job/prepare_again.h"

#include "base/format.h"
#include "launcher/job/generations/restart_text.h"
#include "launcher/job/start/prepare.h"
#include "launcher/job/start/rendezvous.h"
#include "launcher/plan/job_plan.h"
#include "launcher/process/sweep.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

namespace dt {

namespace {

/// Hosts may be lost again and again while the restart gathers and prepares them.
constexpr int rounds_max = 5;
/// A longer wait for earlier processes is logged.
constexpr Duration quiet_settling = seconds(10);

double random_fraction() {
  std::random_device device;
  return std::uniform_real_distribution<double>()(device);
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
  Result<bool> prepare_hosts();
  Result<> find_reach(const std::vector<Prepared>& answers, const AgentGroup::Awaited& awaited);
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
/// all others reach.
Result<> Restarting::find_reach(const std::vector<Prepared>& answers,
                                const AgentGroup::Awaited& awaited) {
  if (!is_probed(generation_.probed, generation_.plan)) {
    Reach reach = TRY(parts_.find_reach(generation_.plan, answers, awaited));
    for (const std::string& warning : reach.warnings) {
      if (std::ranges::count(generation_.probed.reach.warnings, warning) == 0)
        parts_.gathering.log.warn("{}", warning);
    }
    generation_.probed = {std::move(reach), hosts_of(generation_.plan)};
  }
  generation_.reach = reach_of_plan(generation_.probed, generation_.plan);
  return {};
}

Result<> Restarting::bind_tasks() {
  const std::vector<Host> hosts = hosts_of(generation_.plan);
  const bool same_hosts = hosts == hosts_of(parts_.record.plan);
  std::vector<HostResources> resources;
  if (generation_.need != ResourceNeed::nothing)
    resources =
        with_forwarded_devices(parts_.gathering.agents.known_resources(), generation_.forwarded);
  generation_.bindings =
      TRY(bind_plan(parts_.gathering.config.placement, generation_.plan, hosts, resources));
  if (!same_hosts) log_bindings(generation_.bindings, parts_.gathering.log);
  return {};
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
  generation_.start_deadline = now() + config.start_timeout;
  const AgentGroup::Awaited awaited = {std::min(generation_.start_deadline, time_limit_),
                                       parts_.gathering.interrupted};
  const auto any_lost = [&](const Error& why) {
    return why.code == Errc::unreachable &&
           std::ranges::count(agents.states(), AgentState::lost) > 0;
  };
  const bool probe = needs_probe(plan, config.networks) && !is_probed(generation_.probed, plan);
  const auto orders = prepare_orders(config, plan,
                                     {.token = generation_.token,
                                      .job = parts_.record.job,
                                      .generation = generation_.facts.generation},
                                     generation_.forwarded, probe);
  auto answers = agents.prepare(orders, awaited);
  if (!answers && any_lost(answers.error())) return false;
  if (!answers) return tl::unexpected(answers.error());
  if (gathering_.give_way(*answers)) return false;
  if (const auto failure = preparation_failure(plan, orders, *answers))
    return fail(Errc::refused, failure->reason);
  std::ranges::move(drop_failed_spares(agents, parts_.gathering.log, plan, *answers),
                    std::back_inserter(generation_.history.lost));
  const auto found = find_reach(*answers, awaited);
  if (!found && any_lost(found.error())) return false;
  if (!found) return tl::unexpected(found.error());
  TRY(bind_tasks());
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
  if (failed.failure) gathering_.keep_out(failed.failure->host, random_fraction());
  TRY(gathering_.try_lost_hosts());
  TRY(gathering_.wait(now() + restart.delay));
  for (int round = 0; round < rounds_max; ++round) {
    TRY(gathering_.gather());
    const bool ready = TRY(prepare_hosts());
    if (ready) return {};
  }
  return fail(Errc::unreachable, format("hosts were lost or failed {} times{}", rounds_max,
                                        gathering_.failures_text()));
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
