#include "tests/sim/job/job_world.h"

#include "base/format.h"
#include "launcher/plan/binding.h"
#include "launcher/plan/job_plan.h"
#include "launcher/report/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <csignal>
#include <utility>

namespace dt {

namespace {

/// After so many events without an end the simulation counts as an endless loop.
constexpr uint64_t idle_calls_max = 2'000'000;
constexpr Duration outage_max = milliseconds(1500);
constexpr Duration slow_latency = seconds(1);
constexpr int pipe_bytes = 4096;

Environment typical_environment() {
  Environment all = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
  for (int i = 0; i < 40; ++i)
    all[format("VARIABLE_OF_A_LOGIN_{}", i)] = std::string(60, 'v');
  return all;
}

/// A pipe with the smallest buffer, which is soon full.
Pipe small_pipe() {
  Pipe pipe = make_pipe().value();
  const bool is_small = ::fcntl(pipe.write.get(), F_SETPIPE_SZ, pipe_bytes) == pipe_bytes;
  const bool is_ready = set_nonblocking(pipe.read.get()).has_value();
  assert(is_small && is_ready);
  return pipe;
}

}  // namespace

JobWorld::JobWorld(const std::string& name, Random random, Scenario scenario)
    : random_(random),
      scenario_(std::move(scenario)),
      judge_(name),
      began_(time_.now),
      log_(Log::Level::verbose, [this](std::string_view line) {
        judge_.logged(std::string(line));
        console_.err().write(std::string(line), {});
        note(std::string(line.substr(0, line.size() - 1)));
      }) {
  const Uplink uplink(scenario_.bytes_per_second);
  far_ = VirtualLoop::create(time_, {}).value();
  near_ = VirtualLoop::create(time_, [this](Time until) { return idle(until); }).value();
  terminal_ = small_pipe();
  const int terminal = terminal_.write.get();
  console_ = Console::open(*near_, {.out = terminal, .err = terminal}, {}).value();
  site_.emplace(Site{.loop = *far_, .random = random_, .down = uplink, .up = uplink});
  for (size_t host = 0; host < scenario_.hosts.size(); ++host) {
    const HostFate& fate = scenario_.hosts[host];
    hosts_.push_back(std::make_unique<SimulatedHost>(*site_, fate, handlers_of(host)));
    if (!fate.prepare_failure.empty()) judge_.allow(fate.prepare_status);
    if (!ends_well(fate.logins.back())) judge_.allow(3);
    slowest_ = std::max(slowest_, fate.nature.latency + fate.nature.jitter);
  }
  if (scenario_.config.timeout) judge_.allow(124);
  if (scenario_.config.start_timeout < seconds(30)) {
    judge_.allow(3);
    judge_.allow(4);
  }
}

JobWorld::~JobWorld() = default;

SimulatedHost::Handlers JobWorld::handlers_of(size_t host) {
  return {
      .on_event = [this,
                   host](const std::string& event) { note(format("host {}: {}", host, event)); },
      .on_broken_promise =
          [this, host](const std::string& what) {
            judge_.complain(format("host {}: {}", host, what));
          },
      .dial_rendezvous = [this](Fd connection) { dial(std::move(connection)); },
      .on_exit = [this](const SimulatedHost::Running& task, const ExitStatus& status,
                        std::optional<Time> arrives) { task_exited(task, status, arrives); },
      .on_started = [this] { reached(Phase::started); },
      .on_barrier =
          [this] {
            reached(Phase::joined);
            if (++past_barrier_ < plan_.tasks.size()) return;
            joined_after_ = time_.now - began_;
            if (when_joined_) when_joined_();
          },
      .on_call = [this](const TaskId& task) { called(task); },
      .awaited = [this] { return not_called(); },
      .on_notice =
          [this](const SimulatedHost::Running& listener, const Notice& notice) {
            judge_.heard({listener.id, listener.attempt}, notice);
          },
  };
}

void JobWorld::run() {
  reached(Phase::connecting);
  Result<Outcome> result = run_job();
  over_ = true;
  timers_.clear();
  outcome_ = result ? *std::move(result)
             : result.error().code == Errc::interrupted
                 ? interrupted_outcome(interrupted_)
                 : Outcome{.exit_status = exit_status_of(result.error().code),
                           .reason = result.error().message};
  note(format("end: exit status {} {}", outcome_.exit_status, outcome_.reason));
  while (read_console()) {
    const bool turned = near_->run_once(time_.now).has_value();
    assert(turned);
  }
  std::vector<SimulatedHost*> planned;
  for (const PlannedHost& host : plan_.hosts)
    planned.push_back(&host_named(host.host.name));
  judge_.at_end({.outcome = outcome_,
                 .success = scenario_.config.success,
                 .plan = plan_,
                 .record = record_,
                 .hosts = planned,
                 .stall_after = scenario_.config.stall_report,
                 .undisturbed = scenario_.undisturbed(),
                 .ended = time_.now,
                 .took = time_.now - began_});
  // Agents without a message from the launcher end their tasks when the lease expires.
  pass(seconds(65) + 2 * slowest_);
  judge_.nothing_left(hosts_);
}

/// The steps of launcher/job/run.cc, without those that touch this machine.
Result<Outcome> JobWorld::run_job() {
  const RunConfig& config = scenario_.config;
  const Time start_deadline = near_->now() + config.start_timeout;
  const AgentGroup::Awaited answers = {.deadline = start_deadline,
                                       .interrupted = [this] { return interrupted_ != 0; }};
  const Environment forwarded = typical_environment();
  StatusLine status(*near_, {console_.out(), console_.err()}, false);
  AgentGroup agents(*near_, agent_options());
  TRY(agents.connect(config.hosts));
  const ResourceNeed need = scenario_.resources ? ResourceNeed::cpus : ResourceNeed::nothing;
  const auto resources = TRY(agents.resources(need, answers));
  reached(Phase::greeted);
  plan_ = TRY(job_plan(config, {.hosts = config.hosts, .roles = config.roles}, resources));
  const Bindings bindings = TRY(bind_plan(config.placement, plan_, config.hosts, resources));

  token_ = TRY(Token::random());
  job_name_ = "simulated";
  record_.planned(plan_, job_name_);
  const auto output = TRY(TaskOutput::open(plan_, {}, console_.out(), console_.err(), log_));
  agents.retain(plan_);
  const std::vector<Prepare> orders = prepare_orders(config, plan_, job_name_, token_, forwarded);
  const std::vector<Prepared> prepared = TRY(agents.prepare(orders, answers));
  if (const auto failed = preparation_failure(plan_, orders, prepared)) return *failed;
  const Reach reach = TRY(probe(agents, prepared, answers));
  reached(Phase::prepared);
  const TaskTable table = task_table(plan_, job_name_, reach);
  const auto rendezvous =
      TRY(RendezvousServer::listen(*near_,
                                   {.token = token_,
                                    .table = table,
                                    .dead_after = config.dead_after,
                                    .engine = {.stall_after = config.stall_report}},
                                   log_));
  rendezvous_ = rendezvous.get();
  const JobFacts facts = job_facts(config, plan_, table,
                                   {.address = rendezvous->address(), .token = token_}, prepared);

  Job job(
      {*near_, agents, *rendezvous, *output, log_, record_, status, [this] { suspended(); }, {}},
      plan_, config, start_deadline);
  const SignalHandlerScope taker(*this, job);
  TRY(job.launch({forwarded, facts, bindings, reach}));
  reached(Phase::launched);
  TRY(job.supervise());
  TRY(job.collect());
  record_.output = output->counts();
  return job.outcome();
}

JobWorld::SignalHandlerScope::SignalHandlerScope(JobWorld& world, Job& job) : world_(world) {
  world_.job_ = &job;
  if (std::exchange(world_.pause_wanted_, false)) job.signalled(SIGTSTP);
}

JobWorld::SignalHandlerScope::~SignalHandlerScope() {
  world_.job_ = nullptr;
  world_.rendezvous_ = nullptr;
  world_.console_.forget_writers();
}

AgentGroup::Options JobWorld::agent_options() {
  const RunConfig& config = scenario_.config;
  return {.heartbeat = config.heartbeat,
          .dead_after = config.dead_after,
          .ssh = config.ssh,
          .connect_options = ConnectOptions{.ssh = config.ssh,
                                            .binary = AgentBinary::of(Bytes(pushed_bytes)),
                                            .architecture = "x86_64",
                                            .dead_after = config.dead_after,
                                            .noise = random_.below(1000),
                                            .other =
                                                [this](const Host& host) {
                                                  return host_named(host.name).log_in(host.name);
                                                }},
          .on_connected = {}};
}

Result<Reach> JobWorld::probe(AgentGroup& agents, const std::vector<Prepared>& prepared,
                              const AgentGroup::Awaited& answers) {
  const Probed launcher = {.name = "this machine", .endpoints = {{{"10.1.0.1", 40000}, "eth0"}}};
  std::vector<Probed> hosts;
  for (size_t number = 0; number < prepared.size(); ++number)
    hosts.push_back({plan_.hosts[number].host.name, prepared[number].probe_endpoints});
  std::vector<ProbeDialer::Reached> reached;
  for (Reached& answer : TRY(agents.probe(probe_orders(launcher, hosts), answers)))
    reached.push_back(std::move(answer.targets));
  return choose_addresses(launcher, hosts, reached);
}

SimulatedHost& JobWorld::host_named(const std::string& name) {
  const auto at = std::ranges::find(scenario_.config.hosts, name, &Host::name);
  return *hosts_[static_cast<size_t>(at - scenario_.config.hosts.begin())];
}

/// Called when dtrain has nothing to do: the hosts act, or time passes.
bool JobWorld::idle(Time until) {
  if (read_console()) return true;
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

bool JobWorld::read_console() {
  std::array<char, pipe_bytes> buffer;
  const ssize_t n = ::read(terminal_.read.get(), buffer.data(), buffer.size());
  if (n <= 0) return false;
  judge_.shown({buffer.data(), static_cast<size_t>(n)});
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

/// Called after Ctrl-Z, when all agents have reported that their tasks are stopped.
void JobWorld::suspended() {
  note("suspended");
  judge_.stands_still(hosts_);
  stand_still(pause_lasts_);
  judge_.stands_still(hosts_);
  note("continued");
}

void JobWorld::reached(Phase phase) {
  if (over_ || std::exchange(reached_.at(static_cast<size_t>(phase)), true)) return;
  note(format("phase {}", static_cast<int>(phase)));
  for (const Trouble& trouble : scenario_.troubles) {
    if (trouble.phase != phase) continue;
    timers_.push_back(near_->after(trouble.delay, [this, trouble] { strike(trouble); }));
  }
}

void JobWorld::strike(const Trouble& trouble) {
  note(format("trouble {} host {} signal {}", static_cast<int>(trouble.kind), trouble.host,
              trouble.signal));
  switch (trouble.kind) {
    case Trouble::Kind::signal:
      judge_.allow(128 + trouble.signal);
      return signalled(trouble.signal);
    case Trouble::Kind::pause:
      pause_lasts_ = trouble.lasts;
      return signalled(SIGTSTP);
    case Trouble::Kind::freeze:
      // A freeze shorter than the lease may still be too long on a slow network: nothing is
      // promised.
      if (trouble.lasts > scenario_.config.dead_after / 3) {
        judge_.allow(3);
        judge_.allow(follower_status);  // its handshake stopped, too
      }
      stood_still_ += trouble.lasts;
      if (stood_still_ > scenario_.config.start_timeout / 2) judge_.allow(4);
      return stand_still(trouble.lasts);
    case Trouble::Kind::stranger:
      return knock();
    default:
      return strike_host(trouble);
  }
}

void JobWorld::strike_host(const Trouble& trouble) {
  SimulatedHost& host = *hosts_[trouble.host];
  // A job survives one of these disturbances of a host, but perhaps not two at once.
  const bool bearable =
      trouble.kind == Trouble::Kind::outage || trouble.kind == Trouble::Kind::slow_host;
  if (bearable && !disturbed_.insert(trouble.host).second) return;
  switch (trouble.kind) {
    case Trouble::Kind::agent_killed:
      judge_.allow(3);
      return kill_agent(host);
    case Trouble::Kind::host_cut:
      judge_.allow(3);
      return host.cut();
    case Trouble::Kind::outage:
      if (host.is_cut()) return;
      host.cut();
      outage_until_ = std::max(outage_until_, time_.now + std::min(trouble.lasts, outage_max));
      timers_.push_back(
          near_->after(std::min(trouble.lasts, outage_max), [&host] { host.mend(); }));
      return;
    case Trouble::Kind::slow_host:
      slowest_ = std::max(slowest_, slow_latency);
      return host.slow_down(slow_latency);
    case Trouble::Kind::slip:
      if (is_fatal(trouble.slip)) judge_.allow(3);
      return host.slip(trouble.slip);
    case Trouble::Kind::second_claim:
      if (!host.tasks().empty() && host.tasks().front().task->listening())
        claim_again(host.tasks().front().id);
      return;
    default:
      return;
  }
}

void JobWorld::signalled(int number) {
  if (job_ != nullptr) {
    job_->signalled(number);
  } else if (number == SIGTSTP) {
    pause_wanted_ = true;
  } else {
    interrupted_ = number;
  }
}

/// The connection waits while dtrain is stopped, as in the queue of a listener.
void JobWorld::dial(Fd connection) {
  const auto shared = std::make_shared<Fd>(std::move(connection));
  timers_.push_back(near_->at(time_.now, [this, shared] {
    if (rendezvous_ != nullptr) rendezvous_->adopt(std::move(*shared), "");
  }));
}

void JobWorld::claim_again(const TaskId& task) {
  impostors_.push_back(std::make_unique<Member>(
      *site_, Cable::Nature(),
      Claim{.token = token_, .job = job_name_, .generation = 1, .self = task},
      [this](Fd connection) { dial(std::move(connection)); },
      Member::Handlers{
          .on_barrier = [this] { judge_.complain("a second claim is taken for the task"); },
          .on_notice = [](const Notice&) {},  // it may join when the task has just ended
          .on_wait_query = {},
          .on_failure = [this](const std::string& why) { note("turned away: " + why); }}));
}

void JobWorld::knock() {
  knocking_.push_back(std::make_unique<Cable>(
      *site_, Cable::Nature(),
      Cable::Handlers{.on_bytes = [](ByteSpan) {},
                      .on_end = [this] { note("a stranger is turned away"); }}));
  dial(knocking_.back()->take_near_end());
  knocking_.back()->send(as_bytes("GET / HTTP/1.1\r\nHost: rendezvous\r\n\r\n"));
}

void JobWorld::kill_agent(SimulatedHost& host) {
  std::vector<Judge::Attempt> dying;
  for (const SimulatedHost::Running& running : host.tasks())
    if (running.task->alive()) dying.push_back({running.id, running.attempt});
  const bool heard = host.agent_alive() && !host.is_cut();
  host.kill_agent();
  for (const Judge::Attempt& task : dying)
    if (heard) death_known(task, time_.now);
}

/// A rank has called the collective, which ends when all have.
void JobWorld::called(const TaskId& task) {
  const int rank = rank_of(task);
  called_.insert(rank);
  note(format("rank {} calls", rank));
  const bool all = called_.size() == plan_.tasks.size();
  judge_.called(rank, all, time_.now);
  for (const auto& host : hosts_)
    for (const SimulatedHost::Running& running : host->tasks())
      if (all) running.task->all_called();
}

std::vector<int32_t> JobWorld::not_called() const {
  std::vector<int32_t> ranks;
  for (const Task& task : plan_.tasks)
    if (!called_.contains(task.rank)) ranks.push_back(task.rank);
  return ranks;
}

int JobWorld::rank_of(const TaskId& id) const {
  return std::ranges::find(plan_.tasks, id, &Task::id)->rank;
}

void JobWorld::task_exited(const SimulatedHost::Running& running, const ExitStatus& status,
                           std::optional<Time> arrives) {
  note(format("{} exits: {}", running.id.text(), status.text()));
  const TaskFate& fate = running.task->fate();
  if (fate.end != TaskFate::End::well && fate.end != TaskFate::End::hangs && status == fate.status)
    judge_.allow(status.shell_status());
  reached(Phase::ending);
  if (arrives && !status.good()) death_known({running.id, running.attempt}, *arrives);
}

bool JobWorld::is_cut_off(const TaskId& id) const {
  return std::ranges::any_of(hosts_, [&id](const auto& host) {
    return host->is_cut() && std::ranges::count(host->tasks(), id, &SimulatedHost::Running::id) > 0;
  });
}

/// From `known` on all listening tasks must be notified in time.
void JobWorld::death_known(const Judge::Attempt& dead, Time known) {
  const auto listeners = [this] {
    std::vector<Judge::Attempt> all;
    for (const auto& host : hosts_)
      for (const SimulatedHost::Running& running : host->tasks())
        if (running.task->listening()) all.push_back({running.id, running.attempt});
    return all;
  };
  checks_.push_back(far_->at(known, [this, dead, known, listeners] {
    if (over_ || is_cut_off(dead.task)) return;
    const std::vector<Judge::Attempt> then = listeners();
    checks_.push_back(far_->at(known + Judge::notified_within + 2 * slowest_,
                               [this, dead, known, listeners, then] {
                                 std::vector<Judge::Attempt> both;
                                 for (const Judge::Attempt& task : listeners())
                                   if (task != dead && std::ranges::count(then, task) > 0)
                                     both.push_back(task);
                                 // An outage may have cut off a listening task.
                                 if (outage_until_ < known) judge_.all_notified(dead, known, both);
                               }));
  }));
}

}  // namespace dt
