#include "launcher/connect/agent_group.h"

#include "base/format.h"
#include "base/io/open_files.h"
#include "base/text.h"
#include "launcher/config/hosts/host_range.h"
#include "launcher/connect/agent_start.h"
#include "launcher/connect/host_failures.h"
#include "launcher/process/open_files.h"
#include "launcher/sync/host_connection.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// The longest pause between heartbeats before agents know the terms of the lease. Agents wait for
/// 60 s then (LauncherLink::unprepared_patience).
constexpr Duration first_beats = seconds(10);
/// How long a call waits for spares after all others have answered.
constexpr Duration spare_patience = seconds(5);
/// After this time without a hello, a user would like to know from which hosts.
constexpr Duration missing_patience = seconds(5);

/// How long an agent that is added later may look for the resources of its host.
constexpr Duration late_survey_patience = seconds(10);

/// Names of awaited answers, for the message when one does not come.
constexpr std::string_view hello_answer = "hello";
constexpr std::string_view probe_answer = "probe";

Result<ConnectOptions> own_connect_options(const AgentGroup::Options& wanted,
                                           const std::vector<Host>& hosts) {
  ConnectOptions options = {.ssh = wanted.ssh,
                            .binary = {},
                            .architecture = own_architecture(),
                            .open_files_max = raise_open_files_limit(),
                            .heartbeat = wanted.heartbeat,
                            .dead_after = wanted.dead_after,
                            .local_dead_after = wanted.local_dead_after,
                            .noise = static_cast<uint64_t>(getpid()),
                            .other = {},
                            .dialed = wanted.dialed,
                            .scheduled = wanted.scheduled};
  TRY(ensure_open_files(
      hosts.size() * open_files_per_agent + open_files_while_starting,
      format("connections to {} host{}", hosts.size(), hosts.size() == 1 ? "" : "s")));
  return options;
}

}  // namespace

AgentGroup::~AgentGroup() {
  // An agent ends everything and exits at the end of its input.
  for (const auto& agent : agents_)
    agent->link->close();
}

Result<> AgentGroup::open_shared(const std::vector<Host>& hosts) {
  if (remote_ || dialed_) return {};
  const bool is_dialed = connect_options_.dialed && connect_options_.dialed->starts_all;
  const bool all_here = std::ranges::all_of(hosts, &Host::here);
  if (all_here && !connect_options_.other && !is_dialed) return {};
  if (!all_here && !options_.connect_options) connect_options_.binary = TRY(AgentBinary::own());
  if (connect_options_.dialed) {
    dialed_ = TRY(DialedHosts::create(loop_, log_, *connect_options_.dialed));
    connect_options_.dialed_hosts = dialed_.get();
    return {};
  }
  remote_ = TRY(RemoteHosts::create(loop_, log_,
                                    {.login = connect_options_.ssh,
                                     .dead_after = connect_options_.dead_after,
                                     .noise = connect_options_.noise,
                                     .other = connect_options_.other}));
  connect_options_.remote = remote_.get();
  return {};
}

Result<std::unique_ptr<AgentGroup::Agent>> AgentGroup::start(const Host& host) {
  auto agent = std::make_unique<Agent>();
  Agent& its = *agent;
  its.link = std::make_unique<AgentLink>(
      loop_, host, connect_options_,
      AgentLink::Handlers{.on_message = [this, &its](const FrameView& m) { return handle(its, m); },
                          .on_lost = [this, &its] { report_lost(its); }});
  TRY(its.link->start());
  return agent;
}

Result<> AgentGroup::connect(const std::vector<Host>& hosts, size_t spares, ResourceNeed need) {
  began_ = Clock::now();
  if (options_.connect_options) {
    connect_options_ = *options_.connect_options;
  } else {
    connect_options_ = TRY(own_connect_options(options_, hosts));
  }
  TRY(open_shared(hosts));
  for (const Host& host : hosts) {
    TRY(add(host, need));
    agents_.back()->spare = agents_.size() > hosts.size() - spares;
  }
  if (dialed_) TRY(dialed_->start());
  report_connected();
  if (options_.names_missing)
    missing_ = loop_.after(missing_patience, [this] { report_missing(); });
  beat();
  return {};
}

Result<> AgentGroup::add(const Host& host, ResourceNeed need) {
  TRY(open_shared({host}));
  auto agent = TRY(start(host));
  agent->number = agents_.size();
  agent->spare = true;
  agent->need = need;
  agents_.push_back(std::move(agent));
  if (beat_at_ > loop_.now() + first_beats) beat();
  return {};
}

Result<> AgentGroup::reconnect(size_t number) {
  auto again = TRY(start(agents_[number]->link->host()));
  again->number = number;
  again->spare = agents_[number]->spare;
  again->need = agents_[number]->need;
  unneeded_.push_back(std::exchange(agents_[number], std::move(again)));
  if (beat_at_ > loop_.now() + first_beats) beat();
  return {};
}

Result<> AgentGroup::handle(Agent& agent, const FrameView& message) {
  const auto type = static_cast<MessageType>(message.header.type);
  if (is_of_sync(message.header))
    return agent.sync ? agent.sync->receive(type, sync_stream, message.payload) : Result<>();
  switch (type) {
    case MessageType::hello:
      agent.hello = TRY(decode<Hello>(message.payload));
      agent.hello_at = Clock::now();
      report_connected();
      if (agent.need != ResourceNeed::nothing) ask_resources(agent, late_survey_patience);
      return {};
    case MessageType::node: {
      const auto intro = TRY(decode<NodeIntro>(message.payload));
      if (!dialed_) return fail(Errc::protocol, "a node of no job");
      agent.link->rename(dialed_->introduced(agent.link->host().name, intro));
      return {};
    }
    case MessageType::leaving: {
      Leaving leaving = TRY(decode<Leaving>(message.payload));
      agent.link->lose(printable(leaving.why, 300));
      return {};
    }
    case MessageType::resources:
      agent.resources = TRY(decode<HostResources>(message.payload));
      return {};
    case MessageType::prepared:
      agent.prepared = TRY(decode<Prepared>(message.payload));
      return {};
    case MessageType::reached:
      agent.reached = TRY(decode<Reached>(message.payload));
      return {};
    case MessageType::diagnosed: {
      const int64_t now_ns = wall_clock_ns();
      DiagnoseReply found = TRY(decode<DiagnoseReply>(message.payload));
      const ClockSkew clock = clock_skew(agent.asked_ns, found, now_ns);
      agent.examined = {std::move(found), clock};
      return {};
    }
    case MessageType::measured:
      agent.measured = TRY(decode<Measured>(message.payload));
      return {};
    case MessageType::heartbeat:
      return {};
    case MessageType::lease_over:
      agent.link->lose("nothing from here reached it for too long; see --dead-after");
      return {};
    default:
      // It can cross the end of its generation.
      if (message.header.generation < generation_) return {};
      if (!handlers_.on_message) return fail(Errc::protocol, "a message before its time");
      return handlers_.on_message(agent.number, message);
  }
}

void AgentGroup::report_connected() const {
  if (!options_.on_connected) return;
  const auto connected =
      std::ranges::count_if(agents_, [](const auto& agent) { return agent->hello.has_value(); });
  options_.on_connected(static_cast<size_t>(connected), agents_.size());
}

void AgentGroup::report_missing() {
  std::vector<std::string> names;
  for (const auto& agent : agents_) {
    if (!agent->hello && !agent->link->closed()) names.push_back(agent->link->host().name);
  }
  if (names.empty() || options_.log == nullptr) return;
  options_.log->print("still waiting for {}", compress_names(names));
}

void AgentGroup::report_lost(Agent& agent) {
  agent.sync.reset();
  if (!handlers_.on_lost) {
    if (!dialed_ || !dialed_->awaits_nodes()) return;
    // Its cluster may start it anew while other nodes are missing. On failure it stays lost.
    log_.warn("{}: {}; the job awaits it again", agent.link->host().name, agent.link->why());
    static_cast<void>(reconnect(agent.number));
    return;
  }
  const Lease& lease = agent.link->lease();
  const auto away = lease.suspended(loop_.now());
  handlers_.on_lost(agent.number,
                    away ? suspension_text(*away, lease.dead_after()) : agent.link->why());
}

void AgentGroup::beat() {
  const Time now = loop_.now();
  Time first_end = Time::max();
  bool all_leased = true;
  for (const auto& agent : agents_) {
    all_leased = all_leased && (agent->leased || agent->link->closed());
    if (!agent->link->speaking()) {
      // A lease of an agent begins with its first message, because the time before is no suspension
      // of this process.
      if (!agent->link->closed()) agent->link->lease().restart(now);
      continue;
    }
    Lease& lease = agent->link->lease();
    if (agent->leased && lease.over(now)) {
      agent->link->lose(format("no heartbeat for {}", duration_text(lease.dead_after())));
      continue;
    }
    send(agent->number, MessageType::heartbeat, 0, {});
    if (agent->leased) first_end = std::min(first_end, lease.end() + milliseconds(1));
  }
  // An agent that does not know the terms yet uses its own: --heartbeat may be too long for it.
  const Duration pause =
      all_leased ? options_.heartbeat : std::min(options_.heartbeat, first_beats);
  beat_at_ = std::min(now + pause, first_end);
  heartbeat_ = loop_.at(beat_at_, [this] { beat(); });
}

template <class Answer>
Result<Responses<Answer>> AgentGroup::await_each(const Awaited& awaited,
                                                 std::optional<Answer> Agent::*answer,
                                                 std::string_view what) {
  const auto open = [answer](const auto& agent) {
    return !agent->link->closed() && !((*agent).*answer).has_value();
  };
  const auto needed = [&open](const auto& agent) { return !agent->spare && open(agent); };
  // Waits for all hosts before it reports a failure: one run shows the failures of all.
  Time until = awaited.deadline;
  while (std::ranges::any_of(agents_, open) && loop_.now() < until) {
    if (awaited.interrupted()) return fail(Errc::interrupted, "interrupted");
    if (until == awaited.deadline && std::ranges::none_of(agents_, needed))
      until = std::min(until, loop_.now() + spare_patience);
    TRY(loop_.run_once(until));
  }
  for (const auto& agent : agents_) {
    if (agent->spare && open(agent))
      agent->link->lose(format("no {} from its agent in time", what));
  }
  if (awaited.interrupted()) return fail(Errc::interrupted, "interrupted");
  Responses<Answer> answers;
  for (const auto& agent : agents_) {
    if (agent->link->closed()) {
      answers.push_back(fail(Errc::unreachable, agent->link->why()));
    } else if (const std::optional<Answer>& answered = (*agent).*answer) {
      answers.push_back(*answered);
    } else {
      answers.push_back(fail(Errc::timeout, no_answer(what)));
    }
  }
  return answers;
}

template <class Answer>
Result<std::vector<Answer>> AgentGroup::all_of(Responses<Answer> answers,
                                               std::string_view what) const {
  std::vector<Answer> all;
  std::vector<HostFailure> failures;
  std::vector<std::string> missing;
  for (size_t number = 0; number < answers.size(); ++number) {
    const std::string& name = agents_[number]->link->host().name;
    if (answers[number]) {
      all.push_back(*std::move(answers[number]));
    } else if (agents_[number]->spare) {
      all.emplace_back();
    } else if (answers[number].error().code == Errc::timeout) {
      missing.push_back(name);
    } else {
      failures.push_back({.host = name, .why = answers[number].error().message});
    }
  }
  if (failures.empty() && missing.empty()) return all;
  std::string text = joined_failures(failures);
  if (!missing.empty()) text += (text.empty() ? "" : "\n") + no_answer(what, missing);
  return fail(Errc::unreachable, std::move(text));
}

Result<Responses<Hello>> AgentGroup::await_each_hello(const Awaited& awaited) {
  return await_each(awaited, &Agent::hello, hello_answer);
}

Result<std::vector<Hello>> AgentGroup::await_hellos(const Awaited& awaited) {
  auto answers = TRY(await_each_hello(awaited));
  return all_of(std::move(answers), hello_answer);
}

std::vector<Hello> AgentGroup::hellos() const {
  std::vector<Hello> hellos;
  for (const auto& agent : agents_)
    hellos.push_back(agent->hello.value_or(Hello()));
  return hellos;
}

Result<std::vector<HostResources>> AgentGroup::resources(ResourceNeed need,
                                                         const Awaited& awaited) {
  if (need == ResourceNeed::nothing) return std::vector<HostResources>();
  TRY(await_hellos(awaited));
  // Half of the time: an agent whose driver hangs can report that before the deadline.
  for (const auto& agent : agents_) {
    agent->need = need;
    ask_resources(*agent, (awaited.deadline - Clock::now()) / 2);
  }
  constexpr std::string_view what = "survey";
  auto answers = TRY(await_each(awaited, &Agent::resources, what));
  return all_of(std::move(answers), what);
}

void AgentGroup::ask_resources(const Agent& agent, Duration patience) {
  const ResourcesWanted wanted = {.gpus = agent.need == ResourceNeed::gpus, .patience = patience};
  send(agent.number, MessageType::resources_wanted, 0, encode(wanted));
}

std::vector<HostResources> AgentGroup::known_resources() const {
  std::vector<HostResources> known;
  for (const auto& agent : agents_)
    known.push_back(agent->resources.value_or(HostResources()));
  return known;
}

void AgentGroup::retain(const Plan& plan) {
  std::vector<std::unique_ptr<Agent>> retained;
  for (const PlannedHost& planned : plan.hosts) {
    const auto at = std::ranges::find_if(agents_, [&planned](const auto& agent) {
      return agent && agent->link->host().same_as(planned.host);
    });
    // From now on an agent's number is its host's index in the plan.
    (*at)->number = retained.size();
    (*at)->spare = planned.tasks.empty();
    retained.push_back(std::move(*at));
  }
  for (auto& agent : agents_) {
    if (agent) unneeded_.push_back(std::move(agent));
  }
  for (const auto& agent : unneeded_) {
    agent->sync.reset();
    agent->link->close();
  }
  agents_ = std::move(retained);
}

Result<std::vector<Prepared>> AgentGroup::prepare(const std::vector<Prepare>& wanted,
                                                  const Awaited& awaited) {
  for (size_t number = 0; number < agents_.size(); ++number) {
    generation_ = wanted[number].generation;
    agents_[number]->prepared.reset();  // the answer of the generation before
    agents_[number]->leased = true;
    send(number, MessageType::prepare, 0, encode(wanted[number]));
  }
  restart_leases();
  beat();
  constexpr std::string_view what = "answer";
  auto answers = TRY(await_each(awaited, &Agent::prepared, what));
  return all_of(std::move(answers), what);
}

Result<Responses<Reached>> AgentGroup::probe_each(const std::vector<Probe>& wanted,
                                                  const Awaited& awaited) {
  for (size_t number = 0; number < agents_.size(); ++number) {
    agents_[number]->reached.reset();  // an answer to an earlier order
    send(number, MessageType::probe, 0, encode(wanted[number]));
  }
  return await_each(awaited, &Agent::reached, probe_answer);
}

Result<std::vector<Reached>> AgentGroup::probe(const std::vector<Probe>& wanted,
                                               const Awaited& awaited) {
  auto answers = TRY(probe_each(wanted, awaited));
  return all_of(std::move(answers), probe_answer);
}

Result<Responses<Diagnosis>> AgentGroup::diagnose_each(const std::vector<DiagnoseRequest>& wanted,
                                                       const Awaited& awaited) {
  for (const auto& agent : agents_) {
    agent->asked_ns = wall_clock_ns();
    agent->leased = true;
    send(agent->number, MessageType::diagnose, 0, encode(wanted[agent->number]));
  }
  restart_leases();
  beat();
  return await_each(awaited, &Agent::examined, "word about its host");
}

Result<Responses<Measured>> AgentGroup::measure_each(
    const std::vector<std::optional<Measure>>& wanted, const Awaited& awaited) {
  for (const auto& agent : agents_) {
    const auto& order = wanted[agent->number];
    agent->measured = order ? std::nullopt : std::optional(Measured{.failure = "not asked"});
    if (order) send(agent->number, MessageType::measure, 0, encode(*order));
  }
  return await_each(awaited, &Agent::measured, "measurement");
}

Connection AgentGroup::connection(size_t number) const {
  const Agent& agent = *agents_[number];
  return {.login = agent.link->login(),
          .pushed = agent.link->pushed(),
          .took = agent.hello ? agent.hello_at - began_ : Duration()};
}

void AgentGroup::send(size_t number, MessageType type, uint32_t stream, ByteSpan payload) {
  Bytes frames;
  append_message(frames, type, {.generation = generation_, .stream = stream}, payload);
  agents_[number]->link->write(frames);
}

void AgentGroup::send_all(MessageType type, ByteSpan payload) {
  for (size_t number = 0; number < agents_.size(); ++number)
    send(number, type, 0, payload);
}

void AgentGroup::restart_leases() {
  for (const auto& agent : agents_)
    agent->link->lease().restart(loop_.now());
}

Result<std::optional<Fd>> AgentGroup::connect_sync(size_t number) {
  Agent& agent = *agents_[number];
  if (agent.sync) return std::nullopt;
  SocketPair pair = TRY(make_socketpair());
  TRY(set_nonblocking(pair.ours.get()));
  agent.sync = std::make_unique<Relay>(
      loop_, [this, &agent](MessageType type, uint32_t stream, ByteSpan payload) {
        send(agent.number, type, stream, payload);
      });
  send(number, MessageType::relay_open, sync_stream, {});
  TRY(agent.sync->add(sync_stream, std::move(pair.ours)));
  return std::move(pair.theirs);
}

void AgentGroup::close(size_t number) {
  agents_[number]->sync.reset();
  agents_[number]->link->close();
}

bool AgentGroup::owns(pid_t pid) const {
  const auto owned = [pid](const auto& agent) { return agent->link->owns(pid); };
  return std::ranges::any_of(agents_, owned) || std::ranges::any_of(unneeded_, owned) ||
         (dialed_ && dialed_->owns(pid));
}

std::vector<AgentState> AgentGroup::states() const {
  std::vector<AgentState> states;
  for (const auto& agent : agents_) {
    const bool is_known =
        agent->hello && (agent->need == ResourceNeed::nothing || agent->resources);
    states.push_back(agent->link->closed() ? AgentState::lost
                     : is_known            ? AgentState::connected
                                           : AgentState::connecting);
  }
  return states;
}

Result<> AgentGroup::wait_for_exit(const Awaited& awaited) {
  for (const auto& agent : agents_)
    agent->link->close();
  const auto left = [](const auto& agent) { return !agent->link->ended(); };
  const auto any_left = [&] {
    return std::ranges::any_of(agents_, left) || std::ranges::any_of(unneeded_, left) ||
           (dialed_ && !dialed_->ended());
  };
  // Closed links have no leases: only the deadline and an interruption end the wait.
  while (any_left() && loop_.now() < awaited.deadline && !awaited.interrupted())
    TRY(loop_.run_once(awaited.deadline));
  for (const auto* group : {&agents_, &unneeded_}) {
    for (const auto& agent : *group)
      agent->link->kill();
  }
  if (dialed_) dialed_->kill();
  return {};
}

}  // namespace dt
