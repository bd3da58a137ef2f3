#include "tests/sim/job/simulated_launcher.h"

#include "base/finally.h"
#include "base/format.h"
#include "launcher/environment/job_facts.h"
#include "launcher/job/start/prepare.h"
#include "launcher/job/start/rendezvous.h"
#include "launcher/plan/binding.h"
#include "launcher/plan/job_plan.h"
#include "launcher/plan/resolve_hosts.h"
#include "launcher/report/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <csignal>
#include <iterator>
#include <utility>

namespace dt {

namespace {

constexpr int pipe_bytes = 4096;
constexpr const char* job_name = "simulated";

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

SimulatedLauncher::SimulatedLauncher(const VirtualTime& time, const Scenario& scenario,
                                     Handlers handlers)
    : scenario_(scenario),
      handlers_(std::move(handlers)),
      loop_(VirtualLoop::create(time, handlers_.idle).value()),
      terminal_(small_pipe()),
      log_(Log::Level::verbose, [this](std::string_view line) {
        handlers_.on_log(line);
        console_.err().write(std::string(line), {});
      }) {
  const int terminal = terminal_.write.get();
  console_ = Console::open(*loop_, {.out = terminal, .err = terminal}, {}).value();
}

void SimulatedLauncher::run(uint64_t noise) {
  handlers_.on_phase(Phase::connecting);
  Result<Outcome> result = run_job(noise);
  dials_.clear();
  outcome_ = result ? *std::move(result)
             : result.error().code == Errc::interrupted
                 ? interrupted_outcome(interrupted_)
                 : Outcome{.exit_status = exit_status_of(result.error().code),
                           .reason = result.error().message};
}

Claim SimulatedLauncher::claim_of(const TaskId& task) const {
  const auto generation = static_cast<uint32_t>(record_.generations.size());
  return {.token = generation_.token, .job = job_name, .generation = generation, .self = task};
}

Result<Outcome> SimulatedLauncher::run_job(uint64_t noise) {
  StatusLine status(*loop_, {console_.out(), console_.err()}, false);
  AgentGroup agents(*loop_, agent_options(noise));
  agents_ = &agents;
  const Finally forget([this] { agents_ = nullptr; });
  generation_.forwarded = typical_environment();
  generation_.need = scenario_.resources ? ResourceNeed::cpus : ResourceNeed::nothing;
  const GatheringParts parts = gathering_parts(agents);
  TRY(plan_job(parts));
  handlers_.on_phase(Phase::greeted);
  return prepare_job(parts, status);
}

GatheringParts SimulatedLauncher::gathering_parts(AgentGroup& agents) {
  const bool changes = !scenario_.readings.empty();
  return {.loop = *loop_,
          .agents = agents,
          .log = log_,
          .config = scenario_.config,
          .interrupted = [this] { return interrupted_ != 0; },
          .read_hosts =
              changes ? [this](const OnHostsRead& on_read) { read_hosts(on_read); } : ReadHosts(),
          .need = generation_.need};
}

void SimulatedLauncher::read_hosts(const OnHostsRead& on_read) {
  constexpr Duration takes = milliseconds(20);
  const auto& readings = scenario_.readings;
  const auto& named = readings[std::min(reads_++, readings.size() - 1)];
  reading_ = loop_->after(takes, [on_read, named] {
    on_read(named ? Result<std::vector<Host>>(*named) : fail(Errc::input, "hosts: cannot be read"));
  });
}

AgentGroup::Awaited SimulatedLauncher::awaited() {
  return {.deadline = generation_.start_deadline,
          .interrupted = [this] { return interrupted_ != 0; }};
}

/// The first plan, from the hosts that answer.
Result<> SimulatedLauncher::plan_job(const GatheringParts& parts) {
  const RunConfig& config = scenario_.config;
  AgentGroup& agents = parts.agents;
  generation_.start_deadline = loop_->now() + config.start_timeout;
  ResolvedHosts resolved = {
      .hosts = config.hosts, .spares = config.restarts.spares.size(), .roles = config.roles};
  std::ranges::copy(config.restarts.spares, std::back_inserter(resolved.hosts));
  std::vector<HostResources> resources;
  Plan& plan = generation_.plan;
  if (config.restarts.size) {
    if (const auto& range = config.restarts.cooldown) generation_.history.cooldown.emplace(*range);
    TRY(agents.connect(resolved.hosts, resolved.hosts.size(), parts.need));
    plan.roles = resolved.roles;
    for (const Host& host : resolved.hosts)
      plan.hosts.push_back({.host = host});
    TRY(Gathering(parts, plan, generation_.history, Time::max()).gather());
    generation_.start_deadline = loop_->now() + config.start_timeout;
    resolved.hosts = hosts_of(plan);
    if (parts.need != ResourceNeed::nothing) resources = agents.known_resources();
  } else {
    TRY(agents.connect(resolved.hosts, resolved.spares));
    resources = TRY(agents.resources(parts.need, awaited()));
    plan = TRY(job_plan(config, resolved, resources));
  }
  generation_.bindings = TRY(bind_plan(config.placement, plan, resolved.hosts, resources));
  return {};
}

Result<Outcome> SimulatedLauncher::prepare_job(const GatheringParts& gathering,
                                               StatusLine& status) {
  const RunConfig& config = scenario_.config;
  AgentGroup& agents = gathering.agents;
  Plan& plan = generation_.plan;
  generation_.token = TRY(Token::random());
  record_.planned(plan, job_name);
  const auto output = TRY(TaskOutput::open(plan, {.restarts = config.restarts.max > 0},
                                           console_.out(), console_.err(), log_));
  agents.retain(plan);
  const std::vector<Prepare> orders = prepare_orders(
      config, plan, {.token = generation_.token, .job = job_name, .generation = first_generation},
      generation_.forwarded, needs_probe(plan, config.networks));
  std::vector<Prepared> prepared = TRY(agents.prepare(orders, awaited()));
  if (const auto failed = preparation_failure(plan, orders, prepared)) return *failed;
  drop_failed_spares(agents, log_, plan, prepared);
  record_.planned(plan, job_name);
  generation_.reach = TRY(probe(agents, plan, prepared, awaited()));
  generation_.probed = {generation_.reach, hosts_of(plan)};
  handlers_.on_phase(Phase::prepared);
  const TaskTable table = task_table(plan, job_name, generation_.reach);
  const auto rendezvous =
      TRY(RendezvousServer::listen(*loop_,
                                   {.token = generation_.token,
                                    .table = table,
                                    .dead_after = config.dead_after,
                                    .engine = {.stall_after = config.stall_report}},
                                   log_));
  rendezvous_ = rendezvous.get();
  const Finally close([this] { rendezvous_ = nullptr; });
  generation_.facts =
      job_facts(config, plan, table, {.address = rendezvous->address(), .token = generation_.token},
                prepared);
  const RestartParts parts = {
      .gathering = gathering,
      .rendezvous = *rendezvous,
      .output = *output,
      .record = record_,
      .find_reach =
          [&](const Plan& its_plan, const std::vector<Prepared>& answers,
              const AgentGroup::Awaited& until) { return probe(agents, its_plan, answers, until); },
      .random = [] { return 0.5; }};
  return run_generations(parts, status);
}

Result<Outcome> SimulatedLauncher::run_generations(const RestartParts& parts, StatusLine& status) {
  RestartPolicy restarts(scenario_.config.restarts);
  for (;;) {
    record_.begin_generation(loop_->now());
    const Outcome outcome = TRY(run_generation(parts, status, restarts));
    record_.end_generation(outcome, loop_->now());
    if (!std::exchange(starts_again_, false)) {
      record_.output = parts.output.counts();
      const Outcome* const first = restarts.first_of_series(outcome, lived_);
      return first == nullptr ? outcome : *first;
    }
    handlers_.on_phase(Phase::restarting);
    const WorldRestart restart = restarts.next(outcome, lived_);
    const auto ready = prepare_again(parts, generation_, restart, outcome, Time::max());
    if (ready) continue;
    if (ready.error().code == Errc::interrupted) return tl::unexpected(ready.error());
    log_.error("the job cannot start again: {}", ready.error().message);
    record_.output = parts.output.counts();
    return outcome;
  }
}

Result<Outcome> SimulatedLauncher::run_generation(const RestartParts& parts, StatusLine& status,
                                                  const RestartPolicy& restarts) {
  lived_ = Duration::max();
  const auto may_restart = [&](const Outcome& failed) {
    lived_ = loop_->now() - record_.generations.back().began;
    return restarts.allows(failed, lived_);
  };
  Job job({*loop_,
           parts.gathering.agents,
           parts.rendezvous,
           parts.output,
           log_,
           record_,
           status,
           handlers_.on_suspended,
           {}},
          generation_.plan, scenario_.config,
          {.start_deadline = generation_.start_deadline,
           .limit_since = record_.generations.front().began,
           .may_restart = may_restart});
  const SignalHandlerScope taker(*this, job);
  TRY(job.launch({generation_.forwarded, generation_.facts, generation_.bindings, generation_.reach,
                  generation_.trees}));
  handlers_.on_phase(Phase::launched);
  TRY(job.supervise());
  starts_again_ = job.starts_again();
  if (!starts_again_) TRY(job.collect());
  return job.outcome();
}

AgentGroup::Options SimulatedLauncher::agent_options(uint64_t noise) {
  const RunConfig& config = scenario_.config;
  std::optional<DialedHosts::Options> dialed;
  if (scenario_.dialed) {
    dialed = {.program = "srun",
              .start = [this](const std::vector<std::string>&) { return handlers_.start_agents(); },
              .where = [] { return DialedHosts::Where{.ips = {"10.1.0.1"}}; },
              .patience = config.start_timeout,
              .dead_after = config.dead_after};
  }
  return {.heartbeat = config.heartbeat,
          .dead_after = config.dead_after,
          .ssh = config.ssh,
          .connect_options = ConnectOptions{.ssh = config.ssh,
                                            .binary = AgentBinary::of(Bytes(pushed_bytes)),
                                            .architecture = "x86_64",
                                            .dead_after = config.dead_after,
                                            .noise = noise,
                                            .other = handlers_.log_in,
                                            .dialed = std::move(dialed)},
          .on_connected = {}};
}

Result<Reach> SimulatedLauncher::probe(AgentGroup& agents, const Plan& plan,
                                       const std::vector<Prepared>& prepared,
                                       const AgentGroup::Awaited& until) {
  const Probed launcher = {.name = "this machine", .endpoints = {{{"10.1.0.1", 40000}, "eth0"}}};
  std::vector<Probed> hosts;
  for (size_t number = 0; number < prepared.size(); ++number)
    hosts.push_back({plan.hosts[number].host.name, prepared[number].probe_endpoints});
  std::vector<ProbeDialer::Reached> reached;
  for (Reached& answer : TRY(agents.probe(probe_orders(launcher, hosts), until)))
    reached.push_back(std::move(answer.targets));
  return choose_addresses(launcher, hosts, reached);
}

SimulatedLauncher::SignalHandlerScope::SignalHandlerScope(SimulatedLauncher& launcher, Job& job)
    : launcher_(launcher) {
  launcher_.job_ = &job;
  if (std::exchange(launcher_.pause_wanted_, false)) job.signalled(SIGTSTP);
}

SimulatedLauncher::SignalHandlerScope::~SignalHandlerScope() {
  launcher_.job_ = nullptr;
  launcher_.console_.forget_writers();
}

void SimulatedLauncher::signalled(int number) {
  if (job_ != nullptr) {
    job_->signalled(number);
  } else if (number == SIGTSTP) {
    pause_wanted_ = true;
  } else if (number == SIGCONT) {
    pause_wanted_ = false;
  } else {
    interrupted_ = number;
  }
}

void SimulatedLauncher::dial(Fd connection) {
  const auto shared = std::make_shared<Fd>(std::move(connection));
  dials_.push_back(loop_->at(loop_->now(), [this, shared] {
    if (rendezvous_ != nullptr) rendezvous_->adopt(std::move(*shared), "");
  }));
}

void SimulatedLauncher::dial_as_agent(Fd connection) {
  const auto shared = std::make_shared<Fd>(std::move(connection));
  dials_.push_back(loop_->at(loop_->now(), [this, shared] {
    DialedHosts* const hosts = agents_ == nullptr ? nullptr : agents_->dialed_hosts();
    if (hosts != nullptr && hosts->listening()) hosts->adopt(std::move(*shared));
    shared->reset();  // nobody listens
  }));
}

bool SimulatedLauncher::read_terminal() {
  std::array<char, pipe_bytes> buffer;
  const ssize_t n = ::read(terminal_.read.get(), buffer.data(), buffer.size());
  if (n <= 0) return false;
  handlers_.on_shown({buffer.data(), static_cast<size_t>(n)});
  return true;
}

}  // namespace dt
