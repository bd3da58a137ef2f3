#include "launcher/job/prepare_again.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/job/generations/next_plan.h"
#include "launcher/job/generations/restart_text.h"
#include "launcher/job/start/prepare.h"
#include "launcher/job/start/rendezvous.h"
#include "launcher/process/sweep.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace dt {

namespace {

/// The pause between two tries of a lost host.
constexpr Duration retry_pause = seconds(1);
/// Hosts may be lost again and again while the restart gathers and prepares them.
constexpr int rounds_max = 5;
/// A longer wait for earlier processes is logged.
constexpr Duration quiet_settling = seconds(10);

/// A restart on its way.
class Restarting {
 public:
  Restarting(const RestartParts& parts, JobGeneration& generation, Time time_limit)
      : parts_(parts), generation_(generation), time_limit_(time_limit) {}
  Result<> run(const WorldRestart& restart, const Outcome& failed);

 private:
  Result<> wait(Time until, const std::function<bool()>& is_over = [] { return false; });
  NextPlan next();
  void adopt(NextPlan next);
  void report_losses();
  TaskTable table() const;
  Result<> gather_hosts();
  Result<> try_lost_hosts(const std::vector<size_t>& missing);
  bool may_return(const NextPlan& planned) const;
  std::string names_of(const std::vector<size_t>& places) const;
  Error still_missing(const std::vector<size_t>& missing) const;
  void leave_connecting_spares();
  Time settled_at() const;
  Result<> wait_until_settled();
  Result<bool> prepare_hosts();
  bool give_way(const std::vector<Prepared>& answers);

  const RestartParts& parts_;
  JobGeneration& generation_;
  Time time_limit_;
  std::map<std::string, std::string> why_;  ///< by the names of hosts that this restart has lost
  std::set<std::string> fresh_;             ///< hosts that took a place or returned
};

/// Runs the loop until this time, or until it is over.
Result<> Restarting::wait(Time until, const std::function<bool()>& is_over) {
  until = std::min(until, time_limit_);
  while (!parts_.interrupted() && !is_over() && parts_.loop.now() < until)
    TRY(parts_.loop.run_once(until));
  if (parts_.interrupted()) return fail(Errc::interrupted, "interrupted");
  if (parts_.loop.now() >= time_limit_)
    return fail(Errc::timeout, "the time limit of the job is reached");
  return {};
}

NextPlan Restarting::next() {
  const std::vector<AgentState> states = parts_.agents.states();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    if (states[agent] != AgentState::lost) continue;
    const std::string& name = generation_.plan.hosts[agent].host.name;
    generation_.lost_since.try_emplace(name, parts_.loop.now());
    const std::string& why = parts_.agents.why_lost(agent);
    if (!why.empty()) why_[name] = why;
  }
  NextPlan next = next_plan(std::move(generation_.plan), std::move(generation_.lost), states);
  fresh_.insert(next.taken.begin(), next.taken.end());
  return next;
}

/// Logs which hosts were lost since the last generation has ended.
void Restarting::report_losses() {
  const std::vector<AgentState> states = parts_.agents.states();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    const std::string& name = generation_.plan.hosts[agent].host.name;
    if (states[agent] == AgentState::lost && !generation_.lost_since.contains(name))
      parts_.log.warn("agent on {} lost: {}", name, parts_.agents.why_lost(agent));
  }
}

void Restarting::adopt(NextPlan next) {
  generation_.plan = std::move(next.plan);
  generation_.lost = std::move(next.lost);
  parts_.agents.retain(generation_.plan);
}

TaskTable Restarting::table() const {
  return task_table(generation_.plan, parts_.record.job, generation_.reach,
                    generation_.facts.generation);
}

std::string Restarting::names_of(const std::vector<size_t>& places) const {
  std::vector<std::string> names;
  for (const size_t place : places)
    names.push_back(generation_.plan.hosts[place].host.name);
  return join(names, ", ");
}

/// False when no agent can come any more for a place that has none.
bool Restarting::may_return(const NextPlan& planned) const {
  const std::vector<PlannedHost>& hosts = planned.plan.hosts;
  // Spares that are connected have been taken: the others are connecting, or too small.
  std::vector<Host> candidates = hosts_of(planned.plan);
  candidates.erase(candidates.begin(),
                   candidates.begin() + static_cast<std::ptrdiff_t>(planned.plan.host_count()));
  const size_t connecting = candidates.size();
  std::ranges::copy(planned.lost, std::back_inserter(candidates));
  const auto may_take = [&](size_t place) {
    if (parts_.agents.can_add(hosts[place].host)) return true;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const bool may_come = i < connecting || parts_.agents.can_add(candidates[i]);
      if (may_come && can_replace(candidates[i], hosts[place])) return true;
    }
    return false;
  };
  return std::ranges::all_of(planned.missing, may_take);
}

/// Starts agents on hosts that are lost: those of these places, and others that could take them.
Result<> Restarting::try_lost_hosts(const std::vector<size_t>& missing) {
  std::vector<PlannedHost>& hosts = generation_.plan.hosts;
  const std::vector<AgentState> states = parts_.agents.states();
  for (const size_t place : missing) {
    if (states[place] != AgentState::lost || !parts_.agents.can_add(hosts[place].host)) continue;
    TRY(parts_.agents.reconnect(place));
    fresh_.insert(hosts[place].host.name);
  }
  for (Host& host : std::exchange(generation_.lost, {})) {
    const bool is_useful =
        std::ranges::any_of(missing, [&](size_t place) { return can_replace(host, hosts[place]); });
    if (!is_useful || !parts_.agents.can_add(host)) {
      generation_.lost.push_back(std::move(host));
      continue;
    }
    TRY(parts_.agents.add(host));
    hosts.push_back({.host = std::move(host)});
  }
  return {};
}

Error Restarting::still_missing(const std::vector<size_t>& missing) const {
  std::vector<std::string> lines;
  for (const size_t place : missing) {
    const std::string& name = generation_.plan.hosts[place].host.name;
    const auto why = why_.find(name);
    lines.push_back(name + ": " + (why == why_.end() ? "its agent was lost" : why->second));
  }
  return {Errc::unreachable, join(lines, "\n")};
}

/// Waits until each place has a host that is connected.
Result<> Restarting::gather_hosts() {
  const Time deadline = parts_.loop.now() + parts_.config.start_timeout;
  bool waits = false;
  for (;;) {
    report_losses();
    NextPlan planned = next();
    const std::vector<size_t> missing = planned.missing;
    const bool is_vain = !may_return(planned);
    for (const std::string& name : planned.taken)
      parts_.log.print("{} (spare) takes the place of a lost host", name);
    adopt(std::move(planned));
    if (missing.empty()) break;
    const Time now = parts_.loop.now();
    if (now >= deadline || is_vain) return tl::unexpected(still_missing(missing));
    if (!std::exchange(waits, true)) {
      parts_.log.print("waiting for {}, up to {} (--start-timeout)", names_of(missing),
                       duration_text(parts_.config.start_timeout));
    }
    TRY(try_lost_hosts(missing));
    // A failed connection is tried again after the pause; a host that has connected ends it.
    const auto connected = [this] {
      return std::ranges::count(parts_.agents.states(), AgentState::connected);
    };
    TRY(wait(std::min(deadline, now + retry_pause),
             [&, before = connected()] { return connected() != before; }));
  }
  if (waits) parts_.log.print("all hosts are there again");
  leave_connecting_spares();
  return {};
}

/// A spare that still connects is not waited for.
void Restarting::leave_connecting_spares() {
  const std::vector<AgentState> states = parts_.agents.states();
  std::vector<PlannedHost> hosts;
  for (size_t agent = 0; agent < states.size(); ++agent) {
    PlannedHost& host = generation_.plan.hosts[agent];
    if (host.tasks.empty() && states[agent] == AgentState::connecting) {
      generation_.lost.push_back(std::move(host.host));
    } else {
      hosts.push_back(std::move(host));
    }
  }
  generation_.plan.hosts = std::move(hosts);
  parts_.agents.retain(generation_.plan);
}

/// When no process of an earlier agent is left on a host that has returned. That agent ends its
/// tasks once it has not heard from here for --dead-after, a heartbeat later than this side at
/// most.
Time Restarting::settled_at() const {
  const Duration settling = 2 * parts_.config.heartbeat + Sweep::usual_patience + seconds(1);
  Time at = parts_.loop.now();
  for (const PlannedHost& planned : generation_.plan.hosts) {
    const auto lost = generation_.lost_since.find(planned.host.name);
    if (lost != generation_.lost_since.end()) at = std::max(at, lost->second + settling);
  }
  return at;
}

Result<> Restarting::wait_until_settled() {
  const Time until = settled_at();
  const Duration left = until - parts_.loop.now();
  if (left > quiet_settling) {
    parts_.log.print("in {} no earlier process can be left on the hosts that were lost",
                     duration_text(std::chrono::ceil<seconds>(left)));
  }
  return wait(until);
}

/// True if hosts that took a place, or returned, cannot start their tasks: they lose it again.
bool Restarting::give_way(const std::vector<Prepared>& answers) {
  bool any = false;
  for (size_t agent = 0; agent < answers.size(); ++agent) {
    const PlannedHost& planned = generation_.plan.hosts[agent];
    const std::string& failure = answers[agent].failure;
    const std::string& name = planned.host.name;
    if (failure.empty() || planned.tasks.empty() || !fresh_.contains(name)) continue;
    if (why_[name] != failure) parts_.log.warn("{}: {}", name, failure);
    why_[name] = failure;
    generation_.lost_since.try_emplace(name, parts_.loop.now());
    parts_.agents.close(agent);
    any = true;
  }
  return any;
}

/// Returns false when a host was lost meanwhile.
Result<bool> Restarting::prepare_hosts() {
  TRY(wait_until_settled());
  Plan& plan = generation_.plan;
  const std::vector<Host> earlier = hosts_of(parts_.record.plan);
  for (const PlannedHost& planned : plan.hosts)
    generation_.lost_since.erase(planned.host.name);
  generation_.start_deadline = parts_.loop.now() + parts_.config.start_timeout;
  const auto orders = prepare_orders(parts_.config, plan,
                                     {.token = generation_.token,
                                      .job = parts_.record.job,
                                      .generation = generation_.facts.generation},
                                     generation_.forwarded);
  auto answers = parts_.agents.prepare(
      orders, {std::min(generation_.start_deadline, time_limit_), parts_.interrupted});
  if (!answers && answers.error().code == Errc::unreachable) {
    const auto states = parts_.agents.states();
    if (std::ranges::count(states, AgentState::lost) > 0) return false;
  }
  if (!answers) return tl::unexpected(answers.error());
  if (give_way(*answers)) return false;
  if (const auto failure = preparation_failure(plan, orders, *answers))
    return fail(Errc::refused, failure->reason);
  std::ranges::move(drop_failed_spares(parts_.agents, parts_.log, plan, *answers),
                    std::back_inserter(generation_.lost));
  generation_.reach = reach_of_plan(generation_.probed, plan);
  generation_.bindings =
      TRY(bind_plan(parts_.config.placement, plan, generation_.hosts, generation_.resources));
  if (hosts_of(plan) != earlier) log_bindings(generation_.bindings, parts_.log);
  const TaskTable its_table = table();
  parts_.rendezvous.set_table(its_table);
  generation_.facts = job_facts(
      parts_.config, plan, its_table,
      {parts_.rendezvous.address(), generation_.token, generation_.facts.horovod}, *answers);
  parts_.record.planned(plan, parts_.record.job);
  return true;
}

Result<> Restarting::run(const WorldRestart& restart, const Outcome& failed) {
  // Members of the last generation are refused from now on.
  ++generation_.facts.generation;
  parts_.rendezvous.set_table(table());
  NextPlan planned = next();
  const std::string why = restart_text(restart, failed, planned);
  parts_.log.print("{}", why);
  parts_.output.begin_generation("dtrain: " + why);
  adopt(std::move(planned));
  TRY(wait(parts_.loop.now() + restart.delay));
  for (int round = 0; round < rounds_max; ++round) {
    TRY(gather_hosts());
    const bool ready = TRY(prepare_hosts());
    if (ready) return {};
  }
  std::string text = format("hosts were lost or failed {} times", rounds_max);
  for (const auto& [name, its_why] : why_)
    text += format("\n{}: {}", name, its_why);
  return fail(Errc::unreachable, text);
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
