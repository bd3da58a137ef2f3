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
#include <utility>

namespace dt {

namespace {

/// The pause between two tries of a lost host.
constexpr Duration retry_pause = seconds(1);

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
  TaskTable table() const;
  Result<> gather_hosts();
  Result<> try_lost_hosts(const std::vector<size_t>& missing);
  bool may_return(const std::vector<size_t>& missing) const;
  std::string names_of(const std::vector<size_t>& places) const;
  Error still_missing(const std::vector<size_t>& missing) const;
  void leave_connecting_spares();
  Time settled_at() const;
  Result<bool> prepare_hosts();

  const RestartParts& parts_;
  JobGeneration& generation_;
  Time time_limit_;
  Time gather_deadline_;
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
    const std::string& name = generation_.plan.hosts[agent].host.name;
    if (states[agent] == AgentState::lost)
      generation_.lost_since.try_emplace(name, parts_.loop.now());
  }
  return next_plan(std::move(generation_.plan), std::move(generation_.lost), states);
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

/// False when no agent can be started any more in any of these places.
bool Restarting::may_return(const std::vector<size_t>& missing) const {
  const auto can_add = [this](const Host& host) { return parts_.agents.can_add(host); };
  const auto& hosts = generation_.plan.hosts;
  const bool any_place =
      std::ranges::any_of(missing, [&](size_t place) { return can_add(hosts[place].host); });
  return any_place || std::ranges::any_of(generation_.lost, can_add) ||
         hosts.size() > generation_.plan.host_count();
}

/// Starts agents on hosts that are lost: those of these places, and others that could take them.
Result<> Restarting::try_lost_hosts(const std::vector<size_t>& missing) {
  std::vector<PlannedHost>& hosts = generation_.plan.hosts;
  const std::vector<AgentState> states = parts_.agents.states();
  for (const size_t place : missing) {
    if (states[place] == AgentState::lost && parts_.agents.can_add(hosts[place].host))
      TRY(parts_.agents.reconnect(place));
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
    const std::string& why = parts_.agents.why_lost(place);
    lines.push_back(generation_.plan.hosts[place].host.name + ": " +
                    (why.empty() ? "no agent started there in time" : why));
  }
  return {Errc::unreachable, join(lines, "\n")};
}

/// Waits until each place has a host that is connected.
Result<> Restarting::gather_hosts() {
  std::string awaited;
  for (;;) {
    NextPlan planned = next();
    const std::vector<size_t> missing = planned.missing;
    const std::vector<std::string> taken = planned.taken;
    adopt(std::move(planned));
    if (!awaited.empty() && !taken.empty())
      parts_.log.print("{} takes the place of a lost host", join(taken, ", "));
    if (missing.empty()) break;
    const Time now = parts_.loop.now();
    if (now >= gather_deadline_ || !may_return(missing))
      return tl::unexpected(still_missing(missing));
    if (awaited.empty()) {
      awaited = names_of(missing);
      parts_.log.print("waiting for {}, up to {} (--start-timeout)", awaited,
                       duration_text(parts_.config.start_timeout));
    }
    TRY(try_lost_hosts(missing));
    // A failed connection is tried again after the pause; a host that has connected ends it.
    const size_t connected = std::ranges::count(parts_.agents.states(), AgentState::connected);
    TRY(wait(std::min(gather_deadline_, now + retry_pause), [&] {
      return std::ranges::count(parts_.agents.states(), AgentState::connected) !=
             static_cast<std::ptrdiff_t>(connected);
    }));
  }
  if (!awaited.empty()) parts_.log.print("all hosts are there again");
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

/// Returns false when a host was lost meanwhile.
Result<bool> Restarting::prepare_hosts() {
  TRY(wait(settled_at()));
  Plan& plan = generation_.plan;
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
  if (const auto failure = preparation_failure(plan, orders, *answers))
    return fail(Errc::refused, failure->reason);
  std::ranges::move(drop_failed_spares(parts_.agents, parts_.log, plan, *answers),
                    std::back_inserter(generation_.lost));
  generation_.reach = reach_of_plan(generation_.probed, plan);
  generation_.bindings =
      TRY(bind_plan(parts_.config.placement, plan, generation_.hosts, generation_.resources));
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
  gather_deadline_ = parts_.loop.now() + parts_.config.start_timeout;
  bool ready = false;
  while (!ready) {
    TRY(gather_hosts());
    ready = TRY(prepare_hosts());
  }
  return {};
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
    log.warn("{}: {}; the job goes on without this spare", host.host.name,
             why.empty() ? "no answer in time" : why);
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
