#include "launcher/job/job.h"

#include "base/format.h"
#include "base/io/signals.h"
#include "launcher/job/job_options.h"
#include "launcher/job/last_checkpoints.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace dt {

namespace {

/// How long agents may take to exit. An agent without a launcher ends the processes that are left:
/// TERM, KILL, and the time that the kernel needs.
constexpr Duration collect_patience = Sweep::usual_patience + seconds(4);

tl::unexpected<Error> repeated_start(const TaskId& task) {
  return fail(Errc::protocol, format("reported the start of {} twice", task.text()));
}

bool is_relay(MessageType type) {
  return type == MessageType::relay_open || type == MessageType::relay_bytes ||
         type == MessageType::relay_credit || type == MessageType::relay_end;
}

}  // namespace

Job::Job(Dependencies parts, Plan plan, const RunConfig& config, const Terms& terms)
    : parts_(std::move(parts)),
      plan_(std::move(plan)),
      config_(config),
      supervisor_(
          plan_,
          supervisor_options(config, terms.start_deadline, terms.may_restart,
                             [this] { return any_writes_checkpoint(parts_.rendezvous, plan_); }),
          terms.limit_since),
      failures_({parts_.loop, supervisor_.verdict(), parts_.output, parts_.log, parts_.record,
                 config.stdin_target, names_python(config) && config.restarts.max == 0},
                config.merge_stderr ? "output" : "stderr"),
      stalls_({parts_.loop,
               [this](size_t agent, const StatesWanted& wanted) { ask_agent(agent, wanted); },
               parts_.rendezvous, parts_.log, parts_.record, supervisor_, plan_},
              config.stall_report),
      running_({parts_.loop,
                [this](size_t agent, const StatesWanted& wanted) { ask_agent(agent, wanted); },
                parts_.log, supervisor_, plan_}),
      input_(plan_, config.stdin_target),
      relays_(parts_.loop, parts_.rendezvous, plan_,
              [this](size_t agent, MessageType type, uint32_t stream, ByteSpan payload) {
                parts_.agents.send(agent, type, stream, payload);
              }),
      mpi_notice_(plan_.hosts.size()),
      clocks_(plan_.hosts.size()),
      agent_done_(plan_.hosts.size()),
      output_streams_(plan_.tasks.size()),
      sweep_({parts_.loop, parts_.log, [this](pid_t pid) { return parts_.agents.owns(pid); },
              parts_.spared}) {
  for (size_t task = 0; task < plan_.tasks.size(); ++task)
    task_indexes_.emplace(plan_.tasks[task].id, task);
  parts_.agents.set_handlers(
      {.on_message = [this](size_t agent, const FrameView& m) { return message(agent, m); },
       .on_lost = [this](size_t agent, const std::string& why) { agent_lost(agent, why); }});
}

Job::~Job() {
  // A message may cross the end of the generation.
  parts_.agents.set_handlers({.on_message = [](size_t, const FrameView&) { return Result<>(); }});
}

Result<> Job::launch(const LaunchFacts& facts) {
  // All orders are encoded before the first one is sent: after an error no agent runs tasks.
  const std::vector<Bytes> orders = TRY(launch_orders(config_, plan_, facts));
  parts_.record.places = task_places(plan_, facts);
  parts_.status.ranks(0, plan_.tasks.size());
  for (size_t agent = 0; agent < orders.size(); ++agent) {
    parts_.agents.send(agent, MessageType::launch, 0, orders[agent]);
    log_reach(parts_.log, plan_.hosts[agent].host.name, facts.reach.hosts[agent]);
  }
  input_.open(parts_.loop, parts_.log,
              [this](size_t task, ByteSpan bytes) { send_input(task, bytes); });
  // An earlier generation may have lost an agent of this machine.
  if (parts_.record.generations.size() > 1) sweep_.require();
  // A spare may have been lost before the handlers were set.
  const std::vector<AgentState> states = parts_.agents.states();
  for (size_t agent = 0; agent < states.size(); ++agent)
    if (states[agent] == AgentState::lost) agent_lost(agent, parts_.agents.why_lost(agent));
  set_timer();
  launched_ = true;
  if (pause_wanted_) signalled(SIGTSTP);
  return {};
}

void Job::send_input(size_t task, ByteSpan bytes) {
  const Task& to = plan_.tasks[task];
  if (as_text(bytes).ends_with('\n') && ::isatty(STDIN_FILENO) != 0) parts_.output.line_typed();
  parts_.agents.send(static_cast<size_t>(to.agent), MessageType::input,
                     StreamId{to.local_index, TaskStream::input}.number(), bytes);
}

Result<> Job::supervise() {
  while (!over_) {
    TRY(parts_.loop.run_once(Time::max()));
    check_end();
  }
  if (starts_again()) {
    input_.end_generation(parts_.log);
  } else {
    input_.warn_of_unread(parts_.log);
  }
  return {};
}

Result<> Job::collect() {
  timer_ = Timer();
  over_ = false;
  const auto interrupted = [this] { return over_; };
  if (parts_.before_exit) {
    const auto done = parts_.before_exit({.deadline = Time::max(), .interrupted = interrupted});
    if (!done) parts_.log.warn("{}", done.error().message);
  }
  TRY(parts_.agents.wait_for_exit(
      {.deadline = parts_.loop.now() + collect_patience, .interrupted = interrupted}));
  // Agents that stayed were children, too.
  while (parts_.before_exit && !sweep_.run())
    TRY(parts_.loop.run_once(Time::max()));
  return {};
}

void Job::signalled(int number) {
  const bool forwarded = number == SIGUSR1 || number == SIGUSR2 || number == SIGWINCH;
  if (forwarded) {
    parts_.agents.send_all(MessageType::signal, encode(SignalAll{number}));
  } else if (number == SIGPIPE) {
    carry_out(supervisor_.reader_gone(parts_.loop.now()));
  } else if (!launched_ && (number == SIGTSTP || number == SIGCONT)) {
    // A message now would make agents start tasks in the middle of the pause.
    pause_wanted_ = number == SIGTSTP;
  } else if (number == SIGTSTP) {
    carry_out(supervisor_.pause_wanted(parts_.loop.now()));
  } else if (number == SIGCONT) {
    // The pause may be incomplete: agents that were stopped, too, answer only now.
    carry_out(supervisor_.resumed(parts_.loop.now()));
  } else {
    carry_out(supervisor_.interrupted(number, parts_.loop.now()));
  }
}

Result<> Job::message(size_t agent, const FrameView& message) {
  // Streams carry most of the messages, and no message on them changes a deadline.
  if (message.header.stream != 0) return on_stream(agent, message);
  const Actions actions = TRY(decide(agent, message));
  carry_out(actions);
  return {};
}

Result<> Job::on_stream(size_t agent, const FrameView& message) {
  const auto type = static_cast<MessageType>(message.header.type);
  // Relays number their streams apart from the tasks.
  if (is_relay(type)) return relays_.receive(agent, message);
  const auto stream = StreamId::parse(message.header.stream);
  const std::vector<size_t>& tasks = plan_.hosts[agent].tasks;
  if (!stream || stream->local_index >= tasks.size()) {
    return fail(Errc::protocol,
                format("message {} on stream {}", message.header.type, message.header.stream));
  }
  const size_t task = tasks[stream->local_index];
  switch (type) {
    case MessageType::output:
      return on_output(agent, task, *stream, message.payload);
    case MessageType::output_end:
      if (stream->stream == TaskStream::input) return fail(Errc::protocol, "the end of an input");
      parts_.output.end(task, stream->stream);
      return {};
    case MessageType::credit: {
      const uint32_t bytes = TRY(decode_credit(message.payload));
      input_.taken(task, bytes);
      return {};
    }
    default:
      return fail(Errc::protocol, format("unknown message {}", message.header.type));
  }
}

Result<> Job::on_output(size_t agent, size_t task, StreamId id, ByteSpan bytes) {
  if (id.stream == TaskStream::input)
    return fail(Errc::protocol, "output on the stream of an input");
  OutputStream& stream = output_streams_[task][id.stream];
  // An agent that sends more than its credit is lost: it would fill the launcher's memory.
  TRY(stream.credit.received(bytes.size()));
  stream.unwritten += bytes.size();
  parts_.status.end();
  running_.wrote(task);
  parts_.output.add(task, id.stream, bytes, [this, agent, task, id, size = bytes.size()] {
    output_written(agent, task, id, size);
  });
  return {};
}

void Job::output_written(size_t agent, size_t task, StreamId id, size_t size) {
  OutputStream& stream = output_streams_[task][id.stream];
  stream.unwritten -= size;
  const uint32_t grant = stream.credit.to_grant(stream.unwritten);
  if (grant == 0) return;
  parts_.agents.send(agent, MessageType::credit, id.number(), encode_credit(grant));
}

Result<Actions> Job::decide(size_t agent, const FrameView& message) {
  switch (static_cast<MessageType>(message.header.type)) {
    case MessageType::started:
      return on_started(agent, message.payload);
    case MessageType::start_failed:
      return on_start_failed(agent, message.payload);
    case MessageType::exited:
      return on_exited(agent, message.payload);
    case MessageType::paused:
      return supervisor_.paused(agent);
    case MessageType::states:
      TRY(on_states(agent, message.payload));
      return Actions();
    case MessageType::mpi_alone:
      return on_mpi_alone(agent, message.payload);
    case MessageType::port_taken:
      return on_port_taken(agent, message.payload);
    case MessageType::signalled:
      return on_signalled(agent, message.payload);
    case MessageType::finished:
      return on_finished(agent, message.payload);
    default:
      return fail(Errc::protocol, format("unknown message {}", message.header.type));
  }
}

Result<size_t> Job::task_of(size_t agent, const TaskId& id) const {
  const auto at = task_indexes_.find(id);
  if (at == task_indexes_.end() || plan_.tasks[at->second].agent != static_cast<int>(agent)) {
    return fail(Errc::protocol, format("{} is no task of this agent", id.text()));
  }
  return at->second;
}

Result<Actions> Job::on_started(size_t agent, ByteSpan payload) {
  const auto started = TRY(decode<Started>(payload));
  const size_t task = TRY(task_of(agent, started.task));
  if (!supervisor_.lives().starting(task)) return repeated_start(started.task);
  const Time now = parts_.loop.now();
  parts_.log.info("{} started: pid {}", started.task.text(), started.pid);
  parts_.record.tasks[task].pid = started.pid;
  parts_.record.tasks[task].started = now;
  if (supervisor_.lives().attempt(task) == first_attempt) {
    parts_.status.ranks(++started_, plan_.tasks.size());
  } else {
    parts_.output.restarted(task);
  }
  return supervisor_.started(task, started.pid, now);
}

Result<Actions> Job::on_start_failed(size_t agent, ByteSpan payload) {
  const auto failed = TRY(decode<StartFailed>(payload));
  const size_t task = TRY(task_of(agent, failed.task));
  if (!supervisor_.lives().starting(task)) return repeated_start(failed.task);
  input_.task_ended(task);
  return supervisor_.start_failed(task, failed.status, failed.why, parts_.loop.now());
}

Result<Actions> Job::on_exited(size_t agent, ByteSpan payload) {
  const auto exited = TRY(decode<Exited>(payload));
  const size_t task = TRY(task_of(agent, exited.task));
  if (supervisor_.lives().starting(task)) {
    return fail(Errc::protocol,
                format("reported the end of {} before its start", exited.task.text()));
  }
  if (supervisor_.lives().ended(task) || supervisor_.lives().waits(task)) {
    return fail(Errc::protocol, format("reported the end of {} twice", exited.task.text()));
  }
  const Time now = parts_.loop.now();
  input_.task_ended(task);
  stalls_.task_ended(task);
  Actions actions = supervisor_.exited(task, exited.status, now, error_of(agent, exited));
  TaskRecord& record = parts_.record.tasks[task];
  record.ended = now;
  record.exit = exited.status;
  record.used = exited.used;
  record.own_name = exited.own_name;
  record.completed = supervisor_.lives().completed(task);
  parts_.log.info("{} ended: {}{}", exited.task.text(), exited.status.text(),
                  record.completed && !exited.status.good() ? "; it has completed" : "");
  return actions;
}

/// True if a task has ended whose output has not come to its end.
bool Job::awaits_output(size_t agent) const {
  return std::ranges::any_of(plan_.hosts[agent].tasks, [this](size_t task) {
    return supervisor_.lives().ended(task) && !parts_.output.all_ended(task);
  });
}

/// Ends the streams of the agent's tasks, so that nothing waits for their output or input.
void Job::end_streams(size_t agent) {
  for (const size_t task : plan_.hosts[agent].tasks) {
    for (const TaskStream stream : written_streams)
      parts_.output.end(task, stream);
    input_.task_ended(task);
  }
}

void Job::agent_lost(size_t agent, const std::string& why) {
  if (agent_done_[agent]) return;
  agent_done_[agent] = true;
  sweep_.require();
  const bool output_missing = awaits_output(agent);
  end_streams(agent);
  relays_.drop(agent);
  warn_of_mpi(mpi_notice_.agent_ended(agent));
  parts_.log.info("agent on {} lost: {}", plan_.hosts[agent].host.name, why);
  carry_out(supervisor_.agent_lost(agent, why, parts_.loop.now()));
  if (output_missing) supervisor_.output_lost(agent, why);
  failures_.report_reason();
}

Result<Actions> Job::on_port_taken(size_t agent, ByteSpan payload) {
  const auto taken = TRY(decode<PortTaken>(payload));
  const std::string& host = plan_.hosts[agent].host.name;
  Actions actions = supervisor_.port_taken(format("{}: {}", host, taken.text()), parts_.loop.now());
  failures_.report_reason();
  return actions;
}

/// The task's error with its time by this machine's clock: the clocks of hosts may differ by
/// seconds.
std::optional<TaskError> Job::error_of(size_t agent, const Exited& exited) {
  auto error = exited.error;
  if (error && error->when_ns > 0) {
    const int64_t now_ns = parts_.loop.now().time_since_epoch().count();
    const int64_t when_ns = clocks_.by_our_clock(agent, error->when_ns, exited.sent_ns, now_ns);
    error->when_ns = std::max<int64_t>(1, when_ns);
  }
  return error;
}

Result<Actions> Job::on_signalled(size_t agent, ByteSpan payload) {
  const auto signalled = TRY(decode<Signalled>(payload));
  const int number = signalled.number;
  if (number != SIGTERM && number != SIGUSR1 && number != SIGUSR2)
    return fail(Errc::protocol, format("reported signal {}", number));
  parts_.log.info("the agent on {} got {}", plan_.hosts[agent].host.name, signal_name(number));
  return supervisor_.agent_signalled(number, parts_.loop.now());
}

Result<Actions> Job::on_mpi_alone(size_t agent, ByteSpan payload) {
  const auto found = TRY(decode<MpiAlone>(payload));
  // The number goes into a message to the user: a wrong one is an error of the agent.
  if (found.tasks > plan_.hosts[agent].tasks.size())
    return fail(Errc::protocol,
                format("reported {} MPI programs, more than it has tasks", found.tasks));
  warn_of_mpi(mpi_notice_.reported(agent, found.tasks));
  return Actions();
}

void Job::ask_agent(size_t agent, const StatesWanted& wanted) {
  parts_.agents.send(agent, MessageType::states_wanted, 0, encode(wanted));
}

Result<> Job::on_states(size_t agent, ByteSpan payload) {
  const auto states = TRY(decode<States>(payload));
  for (const States::OfTask& one : states.tasks) {
    const size_t task = TRY(task_of(agent, one.task));
    running_.seen(task, one.state);
  }
  stalls_.states(states);
  return {};
}

void Job::warn_of_mpi(const std::optional<std::string>& warning) {
  if (warning && !std::exchange(parts_.record.mpi_noted, true)) parts_.log.warn("{}", *warning);
}

Result<Actions> Job::on_finished(size_t agent, ByteSpan payload) {
  const auto finished = TRY(decode<Finished>(payload));
  if (!supervisor_.finishing())
    return fail(Errc::protocol, "finished before the launcher asked for it");
  agent_done_[agent] = true;
  parts_.record.contained_by[agent] = finished.contained_by;
  end_streams(agent);
  warn_of_mpi(mpi_notice_.agent_ended(agent));
  const std::string& host = plan_.hosts[agent].host.name;
  if (finished.strays_ended > 0) {
    parts_.log.info("{}: ended {} process(es) that tasks had left behind", host,
                    finished.strays_ended);
  }
  parts_.log.info("{}: all processes have ended (checked by {})", host, finished.contained_by);
  for (const std::string& process : finished.unkillable) {
    parts_.log.warn("{}: {} cannot be killed (it waits in the kernel); it is left there", host,
                    process);
    supervisor_.verdict().forbid_restart();
  }
  // From now on the end of its connection is no loss.
  if (!agents_stay()) parts_.agents.close(agent);
  return supervisor_.agent_finished(agent);
}

void Job::carry_out(const Actions& actions) {
  for (const Action& action : actions) {
    switch (action.kind) {
      case Action::Kind::notify:
        parts_.rendezvous.notify(action.notice);
        break;
      case Action::Kind::start:
        restart(action.task, action.attempt);
        break;
      case Action::Kind::signal:
        parts_.agents.send_all(MessageType::signal, encode(SignalAll{action.signal}));
        break;
      case Action::Kind::dump:
        parts_.agents.send_all(MessageType::signal,
                               encode(SignalAll{.number = SIGQUIT, .only_caught = true}));
        break;
      case Action::Kind::pause:
        parts_.rendezvous.pause();
        parts_.agents.send_all(MessageType::pause, {});
        break;
      case Action::Kind::suspend:
        parts_.log.info("paused; a SIGCONT (fg, bg) goes on");
        parts_.suspend();
        carry_out(supervisor_.resumed(parts_.loop.now()));
        break;
      case Action::Kind::resume:
        // Deadlines are extended before the tasks continue, so that none has passed meanwhile.
        parts_.rendezvous.resume();
        parts_.agents.restart_leases();
        parts_.agents.send_all(MessageType::resume, {});
        break;
      case Action::Kind::finish:
        parts_.agents.send_all(MessageType::finish,
                               encode(Finish{finish_patience(config_), agents_stay()}));
        break;
      case Action::Kind::stop_waiting:
        failures_.report_now();
        over_ = true;
        break;
      case Action::Kind::warn:
        parts_.log.warn("{}", action.text);
        break;
      case Action::Kind::note:
        parts_.log.print("{}", action.text);
        break;
    }
  }
  set_timer();
  running_.report();
  failures_.report_soon();
}

void Job::restart(size_t task, uint32_t attempt) {
  TaskRecord& record = parts_.record.tasks[task];
  record.restart();
  const Task& which = plan_.tasks[task];
  const Role* const role = find_role(plan_.roles, which.id.role);
  parts_.log.info("{} restarts as attempt {}", which.id.text(), attempt);
  parts_.agents.send(
      static_cast<size_t>(which.agent), MessageType::restart, 0,
      encode(Restart{
          .task = which.id,
          .attempt = attempt,
          .changes = attempt_environment(
              config_.env_sets,
              {.attempt = attempt,
               .generation = static_cast<uint32_t>(parts_.record.generations.size()),
               .restarts_max = config_.restarts.max + static_cast<uint32_t>(role->restarts)})}));
}

void Job::set_timer() {
  running_.schedule();
  const Time when = supervisor_.next_deadline();
  if (when == Time::max()) {
    timer_ = Timer();
    return;
  }
  timer_ = parts_.loop.at(when, [this] { carry_out(supervisor_.tick(parts_.loop.now())); });
}

void Job::check_end() {
  failures_.report_if_complete();
  if (!supervisor_.finishing()) return;
  if (std::ranges::find(agent_done_, false) != agent_done_.end()) return;
  // Every agent has sent `finished`, or is lost: no message comes any more.
  failures_.report_now();
  // The agents that stay are children, too, or have some.
  if (agents_stay() || sweep_.run()) over_ = true;
}

}  // namespace dt
