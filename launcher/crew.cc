#include "launcher/crew.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/open_files.h"
#include "rendezvous/dial.h"

#include <sys/epoll.h>

#include <algorithm>
#include <csignal>

namespace dt {

namespace {

std::string suspension_text(Duration away, Duration lease) {
  const Duration rounded = away < seconds(10) ? std::chrono::round<milliseconds>(away / 100) * 100
                                              : Duration(std::chrono::round<seconds>(away));
  return format("dtrain was suspended for {}, longer than the lease of {} (--dead-after)",
                duration_text(rounded), duration_text(lease));
}

bool has_ended(const Child& process, Time deadline) {
  return await_readiness(process.pidfd(), POLLIN, deadline).value_or(false);
}

/// How long after the end of an agent's link its process may take to end.
constexpr Duration status_patience = milliseconds(200);

}  // namespace

Crew::~Crew() {
  // The end of its input is an agent's order to end everything and go.
  for (const auto& agent : agents_) {
    agent->gone = true;
    agent->link.reset();
  }
}

Result<> Crew::connect(const std::vector<Host>& hosts) {
  const uint64_t open_files_max = raise_open_files_limit();
  for (size_t number = 0; number < hosts.size(); ++number) {
    auto agent =
        std::make_unique<Agent>(hosts[number].name, Lease(options_.dead_after, Clock::now()));
    Carrier carrier = TRY(start_local_agent(open_files_max));
    agent->process = std::move(carrier.process);
    agent->link = TRY(
        Stream::open(loop_, std::move(carrier.from_agent), std::move(carrier.to_agent),
                     {.on_bytes = [this, number](ByteSpan bytes) { return receive(number, bytes); },
                      .on_end = [this, number](const std::optional<Error>&) { link_ended(number); },
                      .on_drained = {}}));
    agents_.push_back(std::move(agent));
  }
  tell_connected();
  return {};
}

size_t Crew::receive(size_t number, ByteSpan bytes) {
  Agent& agent = *agents_[number];
  agent.lease.heard(Clock::now());
  size_t used = 0;
  if (!agent.magic_seen) {
    if (bytes.size() < agent_magic.size()) return 0;
    if (as_text(bytes.first(agent_magic.size())) != agent_magic) {
      lose(number,
           format("it answered '{}' where dtrain's agent was expected", printable(as_text(bytes))));
      return bytes.size();
    }
    agent.magic_seen = true;
    used = agent_magic.size();
  }
  while (!agent.gone) {
    const auto frame = front_frame(bytes.subspan(used));
    if (frame && !*frame) break;
    const auto message = frame ? agent.assembler.add(**frame) : tl::unexpected(frame.error());
    const Result<> handled = !message   ? tl::unexpected(message.error())
                             : *message ? handle(number, **message)
                                        : Result<>();
    if (!handled) {
      lose(number, "protocol error: " + handled.error().message);
      return bytes.size();
    }
    used += frame_header_bytes + (*frame)->header.length;
  }
  return used;
}

Result<> Crew::handle(size_t number, const FrameView& message) {
  Agent& agent = *agents_[number];
  switch (static_cast<MessageType>(message.header.type)) {
    case MessageType::hello:
      agent.hello = TRY(decode<Hello>(message.payload));
      tell_connected();
      return {};
    case MessageType::prepared:
      agent.prepared = TRY(decode<Prepared>(message.payload));
      return {};
    case MessageType::heartbeat:
      return {};
    default:
      if (!handlers_.on_message) return fail(Errc::protocol, "a message before its time");
      return handlers_.on_message(number, message);
  }
}

void Crew::tell_connected() const {
  if (!options_.on_connected) return;
  const auto connected = std::ranges::count_if(
      agents_, [](const std::unique_ptr<Agent>& agent) { return agent->hello.has_value(); });
  options_.on_connected(static_cast<size_t>(connected), agents_.size());
}

void Crew::link_ended(size_t number) {
  Agent& agent = *agents_[number];
  if (agent.gone) return;
  const auto ended = [this, number] { lose(number, end_of(*agents_[number])); };
  if (!agent.process) {
    ended();
    return;
  }
  // Its link ends a moment before its status can be had, and that says more.
  auto watch = loop_.watch(agent.process->pidfd(), EPOLLIN, [ended](uint32_t) { ended(); });
  if (watch) agent.end_watch = *std::move(watch);
  agent.end_timer = loop_.after(status_patience, ended);
}

void Crew::lose(size_t number, std::string why) {
  Agent& agent = *agents_[number];
  if (agent.gone) return;
  // Before the launch agents keep no lease that could have ended.
  const auto away = handlers_.on_lost ? agent.lease.suspended(Clock::now()) : std::nullopt;
  if (away) why = suspension_text(*away, options_.dead_after);
  agent.gone = true;
  agent.end_watch = Watch();
  agent.end_timer = Timer();
  agent.why_gone = std::move(why);
  agent.link.reset();
  if (handlers_.on_lost) handlers_.on_lost(number, agent.why_gone);
}

std::string Crew::end_of(Agent& agent) {
  if (!agent.process) return "its connection ended";
  if (!has_ended(*agent.process, Clock::now())) return "its connection ended";
  agent.end_watch = Watch();
  const auto status = agent.process->reap();
  agent.process.reset();
  return status ? "its process ended: " + status->text() : status.error().message;
}

void Crew::beat() {
  const Time now = Clock::now();
  for (size_t number = 0; number < agents_.size(); ++number) {
    Agent& agent = *agents_[number];
    if (agent.gone) continue;
    if (agent.lease.over(now)) {
      lose(number, format("no heartbeat for {}", duration_text(options_.dead_after)));
    } else {
      send(number, MessageType::heartbeat, 0, {});
    }
  }
  heartbeat_ = loop_.after(options_.heartbeat, [this] { beat(); });
}

Result<> Crew::await(Time deadline, const std::function<bool()>& interrupted,
                     const std::function<bool(const Agent&)>& done, std::string_view what) {
  for (;;) {
    std::vector<std::string> failures;
    bool all = true;
    for (const auto& agent : agents_) {
      if (agent->gone)
        failures.push_back(format("{}: agent lost: {}", agent->host, agent->why_gone));
      all = all && done(*agent);
    }
    if (interrupted()) return fail(Errc::interrupted, "interrupted");
    if (!failures.empty()) return fail(Errc::unreachable, join(failures, "\n"));
    if (all) return {};
    if (Clock::now() >= deadline) break;
    TRY(loop_.run_once(deadline));
  }
  std::vector<std::string> missing;
  for (const auto& agent : agents_) {
    if (!done(*agent)) missing.push_back(agent->host);
  }
  return fail(Errc::unreachable,
              format("no {} from the agent on {} before the start deadline; see --start-timeout",
                     what, join(missing, ", ")));
}

Result<std::vector<Hello>> Crew::await_hellos(Time deadline,
                                              const std::function<bool()>& interrupted) {
  TRY(await(
      deadline, interrupted, [](const Agent& agent) { return agent.hello.has_value(); }, "hello"));
  std::vector<Hello> hellos;
  for (const auto& agent : agents_)
    hellos.push_back(*agent->hello);
  return hellos;
}

Result<std::vector<Prepared>> Crew::prepare(const std::vector<Prepare>& wanted, Time deadline,
                                            const std::function<bool()>& interrupted) {
  for (size_t number = 0; number < agents_.size(); ++number) {
    generation_ = wanted[number].generation;
    send(number, MessageType::prepare, 0, encode(wanted[number]));
  }
  restart_leases();
  beat();
  TRY(await(
      deadline, interrupted, [](const Agent& agent) { return agent.prepared.has_value(); },
      "answer"));
  std::vector<Prepared> answers;
  for (const auto& agent : agents_)
    answers.push_back(*agent->prepared);
  return answers;
}

void Crew::send(size_t number, MessageType type, uint32_t stream, ByteSpan payload) {
  Agent& agent = *agents_[number];
  if (agent.gone) return;
  Bytes frames;
  append_message(frames, type, {.generation = generation_, .stream = stream}, payload);
  agent.link->write(frames);
}

void Crew::send_all(MessageType type, ByteSpan payload) {
  for (size_t number = 0; number < agents_.size(); ++number)
    send(number, type, 0, payload);
}

void Crew::restart_leases() {
  for (const auto& agent : agents_)
    agent->lease.restart(Clock::now());
}

void Crew::let_go(size_t number) {
  Agent& agent = *agents_[number];
  if (agent.gone) return;
  agent.gone = true;
  agent.end_watch = Watch();
  agent.end_timer = Timer();
  agent.link->close_after_sending();
}

void Crew::collect(Time deadline) {
  for (size_t number = 0; number < agents_.size(); ++number)
    let_go(number);
  for (const auto& agent : agents_) {
    if (!agent->process) continue;
    if (!has_ended(*agent->process, deadline)) ::kill(agent->process->pid(), SIGKILL);
    if (const auto status = agent->process->reap(); !status) continue;
    agent->process.reset();
  }
}

}  // namespace dt
