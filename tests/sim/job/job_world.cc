#include "tests/sim/job/job_world.h"

#include "base/format.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dt {

namespace {

/// After so many events without an end the simulation counts as an endless loop.
constexpr uint64_t idle_calls_max = 2'000'000;

}  // namespace

JobWorld::JobWorld(const std::string& name, Random random, Scenario scenario)
    : random_(random), scenario_(std::move(scenario)), judge_(name), began_(time_.now) {
  const Uplink uplink(scenario_.bytes_per_second);
  far_ = VirtualLoop::create(time_, {}).value();
  launcher_.emplace(time_, scenario_, launcher_handlers());
  site_.emplace(Site{.loop = *far_, .random = random_, .down = uplink, .up = uplink});
  for (const auto* list :
       {&scenario_.config.hosts, &scenario_.config.restarts.spares, &scenario_.later}) {
    for (const Host& host : *list)
      names_.push_back(host.name);
  }
  for (size_t host = 0; host < scenario_.hosts.size(); ++host) {
    const HostFate& fate = scenario_.hosts[host];
    hosts_.push_back(std::make_unique<SimulatedHost>(*site_, fate, handlers_of(host)));
    if (!fate.prepare_failure.empty()) judge_.allow(fate.prepare_status);
    if (!ends_well(fate.logins.back())) judge_.allow(3);
    if (fate.dialing == Dialing::never) judge_.allow(3);
  }
  starter_.emplace(*site_, scenario_.starter,
                   [this](const DialOrder& order) { start_agents(order); });
  if (scenario_.starter == StarterFate::fails) judge_.allow(3);
  troubles_.emplace(Troubles::World{
      .scenario = scenario_,
      .site = *site_,
      .hosts = hosts_,
      .launcher = *launcher_,
      .judge = judge_,
      .stand_still = [this](Duration time) { stand_still(time); },
      .on_death = [this](const Judge::Attempt& dead) { death_known(dead, time_.now); }});
  if (scenario_.config.timeout) judge_.allow(124);
  if (!scenario_.readings.empty()) judge_.allow(3);
  if (scenario_.config.start_timeout < seconds(30)) {
    judge_.allow(3);
    judge_.allow(4);
  }
}

SimulatedLauncher::Handlers JobWorld::launcher_handlers() {
  return {
      .on_phase = [this](Phase phase) { reached(phase); },
      .on_log =
          [this](std::string_view line) {
            judge_.logged(std::string(line));
            note(std::string(line.substr(0, line.size() - 1)));
          },
      .on_shown = [this](std::string_view bytes) { judge_.shown(bytes); },
      .on_suspended = [this] { suspended(); },
      .log_in = [this](const Host& host) { return host_to_log_in(host.name).log_in(host.name); },
      .start_agents = [this] { return starter_->run(); },
      .idle = [this](Time until) { return idle(until); }};
}

void JobWorld::start_agents(const DialOrder& order) {
  for (size_t host = 0; host < order.hosts.size(); ++host)
    host_named(order.hosts[host]).start_to_dial(order, static_cast<int>(host));
}

SimulatedHost::Handlers JobWorld::handlers_of(size_t host) {
  return {
      .on_event = [this,
                   host](const std::string& event) { note(format("host {}: {}", host, event)); },
      .on_broken_promise =
          [this, host](const std::string& what) {
            judge_.complain(format("host {}: {}", host, what));
          },
      .dial_rendezvous = [this](Fd connection) { launcher_->dial(std::move(connection)); },
      .dial_launcher = [this](Fd connection) { launcher_->dial_as_agent(std::move(connection)); },
      .on_hello =
          [this] {
            if (++hellos_ == hosts_.size()) starter_->agents_speak();
          },
      .on_agent_end =
          [this] {
            if (++ended_agents_ == hosts_.size()) starter_->agents_ended();
          },
      .on_exit = [this](const SimulatedHost::Running& task, const ExitStatus& status,
                        std::optional<Time> arrives) { task_exited(task, status, arrives); },
      .on_started =
          [this, host] {
            judge_.one_generation(hosts_);
            for (size_t older = 0; older < host; ++older)
              if (names_[older] == names_[host]) judge_.nothing_runs(*hosts_[older]);
            reached(Phase::started);
          },
      .on_barrier =
          [this] {
            reached(Phase::joined);
            if (++past_barrier_ < launcher_->plan().tasks.size()) return;
            joined_after_ = time_.now - began_;
            if (when_joined_) when_joined_();
          },
      .on_call = [this](const TaskId& task) { called(task); },
      .awaited = [this] { return not_called(); },
      .on_notice = [this](const SimulatedHost::Running& listener,
                          const Notice& notice) { judge_.heard(attempt_of(listener), notice); },
  };
}

void JobWorld::run() {
  launcher_->run(random_.below(1000));
  troubles_->end();
  const Outcome& outcome = launcher_->outcome();
  note(format("end: exit status {} {}", outcome.exit_status, outcome.reason));
  while (launcher_->read_terminal()) {
    const bool turned = launcher_->loop().run_once(time_.now).has_value();
    assert(turned);
  }
  std::vector<SimulatedHost*> planned;
  for (const PlannedHost& host : launcher_->plan().hosts)
    planned.push_back(&host_named(host.host.name));
  judge_.at_end({.outcome = outcome,
                 .config = scenario_.config,
                 .plan = launcher_->plan(),
                 .record = launcher_->record(),
                 .hosts = planned,
                 .undisturbed = scenario_.undisturbed(),
                 .moved = hosts_moved(),
                 .ended = time_.now,
                 .took = time_.now - began_});
  // Agents without a message from the launcher end their tasks when the lease expires.
  pass(seconds(65) + 2 * troubles_->slowest());
  judge_.nothing_left(hosts_);
}

/// The index of the host on which an agent was started last.
size_t JobWorld::newest(const std::string& name) const {
  const auto last = std::ranges::find(names_.rbegin(), names_.rend(), name);
  return static_cast<size_t>(names_.rend() - last) - 1;
}

SimulatedHost& JobWorld::host_named(const std::string& name) {
  return *hosts_[newest(name)];
}

/// Once the launcher has lost an agent, the next one of the host has a state of its own.
SimulatedHost& JobWorld::host_to_log_in(const std::string& name) {
  SimulatedHost& last = host_named(name);
  if (!last.has_had_agent()) return last;
  const size_t number = hosts_.size();
  const auto first = static_cast<size_t>(std::ranges::find(names_, name) - names_.begin());
  hosts_.push_back(
      std::make_unique<SimulatedHost>(*site_, scenario_.hosts[first], handlers_of(number)));
  names_.push_back(name);
  if (last.is_cut()) hosts_.back()->cut();
  return *hosts_.back();
}

/// True if a task has run on two hosts, or under two agents.
bool JobWorld::hosts_moved() const {
  const auto& generations = launcher_->record().generations;
  const auto other = [&](const GenerationRecord& one) {
    return one.hosts != generations.front().hosts;
  };
  return hosts_.size() > scenario_.hosts.size() || std::ranges::any_of(generations, other);
}

/// Called when dtrain has nothing to do: the hosts act, or time passes.
bool JobWorld::idle(Time until) {
  if (launcher_->read_terminal()) return true;
  if (++idle_calls_ > idle_calls_max) {
    judge_.complain("it never rests");
    return false;
  }
  if (far_->turn()) return true;
  const Time next = std::min(until, far_->next_timer());
  if (next == Time::max()) {
    judge_.complain("it waits for what will never happen");
    return false;
  }
  time_.now = std::max(time_.now, next);
  return true;
}

void JobWorld::pass(Duration time) {
  const Time end = time_.now + time;
  while (time_.now < end)
    if (!far_->turn()) time_.now = std::min(end, far_->next_timer());
}

void JobWorld::stand_still(Duration time) {
  judge_.stand_still(time_.now);
  pass(time);
  judge_.resume(time_.now);
}

void JobWorld::suspended() {
  note("suspended");
  judge_.stands_still(hosts_);
  stand_still(troubles_->pause_lasts());
  judge_.stands_still(hosts_);
  note("continued");
}

void JobWorld::reached(Phase phase) {
  if (phase == Phase::restarting) {
    past_barrier_ = 0;
    called_.clear();
  }
  if (!launcher_->ended()) troubles_->reached(phase);
}

/// A rank has called the collective, which ends when all have.
void JobWorld::called(const TaskId& task) {
  const int rank = rank_of(task);
  called_.insert(rank);
  note(format("rank {} calls", rank));
  const bool all = called_.size() == launcher_->plan().tasks.size();
  judge_.called(rank, all, time_.now);
  for (const auto& host : hosts_)
    for (const SimulatedHost::Running& running : host->tasks())
      if (all) running.task->all_called();
}

std::vector<int32_t> JobWorld::not_called() const {
  std::vector<int32_t> ranks;
  for (const Task& task : launcher_->plan().tasks)
    if (!called_.contains(task.rank)) ranks.push_back(task.rank);
  return ranks;
}

int JobWorld::rank_of(const TaskId& id) const {
  return std::ranges::find(launcher_->plan().tasks, id, &Task::id)->rank;
}

void JobWorld::task_exited(const SimulatedHost::Running& running, const ExitStatus& status,
                           std::optional<Time> arrives) {
  note(format("{} exits: {}", running.id.text(), status.text()));
  const TaskFate& fate = running.task->fate();
  if (fate.end != TaskFate::End::well && fate.end != TaskFate::End::hangs && status == fate.status)
    judge_.allow(status.shell_status());
  reached(Phase::ending);
  if (arrives && !status.good()) death_known(attempt_of(running), *arrives);
}

bool JobWorld::is_cut_off(const TaskId& id) const {
  return std::ranges::any_of(hosts_, [&id](const auto& host) {
    return (host->is_cut() || host->given_up()) &&
           std::ranges::count(host->tasks(), id, &SimulatedHost::Running::id) > 0;
  });
}

/// From `known` on all listening tasks must be notified in time.
void JobWorld::death_known(const Judge::Attempt& dead, Time known) {
  const auto listeners = [this] {
    std::vector<Judge::Attempt> all;
    for (const auto& host : hosts_)
      for (const SimulatedHost::Running& running : host->tasks())
        if (running.task->listening()) all.push_back(attempt_of(running));
    return all;
  };
  checks_.push_back(far_->at(known, [this, dead, known, listeners] {
    if (launcher_->ended() || is_cut_off(dead.task)) return;
    const std::vector<Judge::Attempt> then = listeners();
    checks_.push_back(far_->at(known + Judge::notified_within + 2 * troubles_->slowest(),
                               [this, dead, known, listeners, then] {
                                 std::vector<Judge::Attempt> both;
                                 for (const Judge::Attempt& task : listeners())
                                   if (task != dead && std::ranges::count(then, task) > 0)
                                     both.push_back(task);
                                 // An outage may have cut off a listening task.
                                 if (troubles_->outage_until() < known)
                                   judge_.all_notified(dead, known, both);
                               }));
  }));
}

}  // namespace dt
