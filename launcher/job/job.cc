#include "launcher/job/job.h"

#include "base/format.h"
#include "launcher/report/report.h"

#include <algorithm>
#include <csignal>

namespace dt {

namespace {

/// How long the last lines of a failed task's stderr are waited for before the failure is told.
constexpr Duration report_patience = milliseconds(500);

/// How long agents may take to go. Without their launcher they end what is left: TERM, KILL, and
/// the time that the kernel needs.
constexpr Duration collect_patience = Sweep::usual_patience + seconds(4);

Supervisor::Options supervisor_options(const RunConfig& config, Time start_deadline) {
  return {.grace = config.grace,
          .timeout = config.timeout,
          .start_deadline = start_deadline,
          .start_timeout = config.start_timeout,
          .continue_on_failure = config.continue_on_failure,
          .success = config.success};
}

/// What tasks left behind gets it too when it is ended together with them.
Duration finish_patience(const RunConfig& config) {
  return config.success.clean == CleanUp::all ? config.grace : Sweep::usual_patience;
}

/// What no agent of ours does: the second word might contradict the first.
tl::unexpected<Error> told_again(const TaskId& task) {
  return fail(Errc::protocol, format("told twice what became of {}", task.text()));
}

}  // namespace

Job::Job(Parts parts, Plan plan, const RunConfig& config, Time start_deadline)
    : parts_(std::move(parts)),
      plan_(std::move(plan)),
      config_(config),
      supervisor_(plan_, supervisor_options(config, start_deadline), parts_.loop.now()),
      input_(plan_, config.stdin_target),
      relays_(parts_.loop, parts_.rendezvous, plan_,
              [this](size_t agent, MessageType type, uint32_t stream, ByteSpan payload) {
                parts_.crew.send(agent, type, stream, payload);
              }),
      mpi_notice_(plan_.hosts.size()),
      clocks_(plan_.hosts.size()),
      agent_done_(plan_.hosts.size()),
      credit_owed_(plan_.tasks.size() * 2) {
  for (size_t task = 0; task < plan_.tasks.size(); ++task)
    task_places_.emplace(plan_.tasks[task].id, task);
  parts_.crew.hand_over(
      {.on_message = [this](size_t agent, const FrameView& m) { return message(agent, m); },
       .on_lost = [this](size_t agent, const std::string& why) { agent_lost(agent, why); }});
}

Result<> Job::launch(const LaunchFacts& facts) {
  const std::vector<Bytes> orders = TRY(launch_orders(config_, plan_, facts));
  parts_.status.ranks(0, plan_.tasks.size());
  for (size_t agent = 0; agent < orders.size(); ++agent) {
    parts_.crew.send(agent, MessageType::launch, 0, orders[agent]);
    tell_ways(plan_.hosts[agent].host.name, facts.reach.hosts[agent]);
  }
  input_.open(parts_.loop, parts_.log,
              [this](size_t task, ByteSpan bytes) { send_input(task, bytes); });
  set_timer();
  launched_ = true;
  if (pause_wanted_) signalled(SIGTSTP);
  return {};
}

void Job::tell_ways(const std::string& host, const HostReach& reach) {
  if (!reach.interface.empty()) {
    parts_.log.info("{}: other hosts reach it at {} ({})", host, reach.ips.front(),
                    reach.interface);
  }
  if (reach.relay) {
    parts_.log.info("{}: cannot dial this machine; its agent carries the rendezvous to its tasks",
                    host);
  }
}

void Job::send_input(size_t task, ByteSpan bytes) {
  const Task& to = plan_.tasks[task];
  parts_.crew.send(static_cast<size_t>(to.agent), MessageType::input,
                   StreamId{to.local_index, TaskStream::input}.number(), bytes);
}

Result<> Job::supervise() {
  while (!over_) {
    TRY(parts_.loop.run_once(Time::max()));
    check_end();
  }
  return {};
}

Result<> Job::collect() {
  timer_ = Timer();
  over_ = false;
  return parts_.crew.collect(
      {.deadline = parts_.loop.now() + collect_patience, .interrupted = [this] { return over_; }});
}

void Job::signalled(int number) {
  const bool forwarded = number == SIGUSR1 || number == SIGUSR2 || number == SIGWINCH;
  if (forwarded) {
    parts_.crew.send_all(MessageType::signal, encode(SignalAll{number}));
  } else if (number == SIGTSTP && !launched_) {
    pause_wanted_ = true;  // agents that are told now would start tasks in the middle of the pause
  } else if (number == SIGTSTP) {
    carry_out(supervisor_.pause_wanted(parts_.loop.now()));
  } else {
    carry_out(supervisor_.interrupted(number, parts_.loop.now()));
  }
}

std::optional<size_t> Job::task_of(const TaskId& id) const {
  const auto at = task_places_.find(id);
  if (at == task_places_.end()) return std::nullopt;
  return at->second;
}

Result<> Job::message(size_t agent, const FrameView& message) {
  carry_out(TRY(decide(agent, message)));
  return {};
}

Result<Actions> Job::decide(size_t agent, const FrameView& message) {
  const Time now = parts_.loop.now();
  const auto task_named = [&](const TaskId& id) -> Result<size_t> {
    const auto task = task_of(id);
    if (!task || plan_.tasks[*task].agent != static_cast<int>(agent)) {
      return fail(Errc::protocol, format("{} is no task of this agent", id.text()));
    }
    return *task;
  };
  switch (static_cast<MessageType>(message.header.type)) {
    case MessageType::started: {
      const auto started = TRY(decode<Started>(message.payload));
      const size_t task = TRY(task_named(started.task));
      if (!supervisor_.starting(task)) return told_again(started.task);
      parts_.log.info("{} started: pid {}", started.task.text(), started.pid);
      parts_.record.tasks[task].pid = started.pid;
      parts_.record.tasks[task].started = now;
      parts_.status.ranks(++started_, plan_.tasks.size());
      return supervisor_.started(task, started.pid, now);
    }
    case MessageType::start_failed: {
      const auto failed = TRY(decode<StartFailed>(message.payload));
      const size_t task = TRY(task_named(failed.task));
      if (!supervisor_.starting(task)) return told_again(failed.task);
      input_.task_gone(task);
      return supervisor_.start_failed(task, failed.status, failed.why, now);
    }
    case MessageType::exited: {
      const auto exited = TRY(decode<Exited>(message.payload));
      const size_t task = TRY(task_named(exited.task));
      if (supervisor_.ended(task)) return told_again(exited.task);
      parts_.record.tasks[task].ended = now;
      parts_.record.tasks[task].exit = exited.status;
      parts_.record.tasks[task].used = exited.used;
      input_.task_gone(task);
      Actions actions = supervisor_.exited(task, exited.status, now, error_of(agent, exited));
      const bool completed = supervisor_.completed(task);
      parts_.record.tasks[task].completed = completed;
      parts_.log.info("{} ended: {}{}", exited.task.text(), exited.status.text(),
                      completed && !exited.status.good() ? "; it has completed" : "");
      return actions;
    }
    case MessageType::paused:
      return supervisor_.paused(agent, now);
    case MessageType::relay_open:
    case MessageType::relay_bytes:
    case MessageType::relay_credit:
    case MessageType::relay_end:
      TRY(relays_.receive(agent, message));
      return Actions();
    case MessageType::mpi_alone:
      TRY(mpi_looked(agent, TRY(decode<MpiAlone>(message.payload))));
      return Actions();
    case MessageType::port_taken:
      return port_taken(agent, TRY(decode<PortTaken>(message.payload)));
    case MessageType::finished:
      return agent_finished(agent, TRY(decode<Finished>(message.payload)));
    default:
      TRY(stream_message(agent, message));
      return Actions();
  }
}

Result<> Job::stream_message(size_t agent, const FrameView& message) {
  const auto stream = StreamId::parse(message.header.stream);
  const std::vector<size_t>& tasks = plan_.hosts[agent].tasks;
  if (!stream || stream->local_index >= tasks.size()) {
    return fail(Errc::protocol,
                format("message {} on stream {}", message.header.type, message.header.stream));
  }
  const size_t task = tasks[stream->local_index];
  switch (static_cast<MessageType>(message.header.type)) {
    case MessageType::output: {
      parts_.status.end();
      const auto size = static_cast<uint32_t>(message.payload.size());
      uint32_t* const owed =
          &credit_owed_[task * 2 + (stream->stream == TaskStream::error ? 1 : 0)];
      const uint32_t number = message.header.stream;
      parts_.output.add(task, stream->stream, message.payload, [this, agent, number, owed, size] {
        *owed += size;
        if (*owed < stream_window_bytes / 4) return;
        parts_.crew.send(agent, MessageType::credit, number,
                         encode_credit(std::exchange(*owed, 0)));
      });
      return {};
    }
    case MessageType::output_end:
      parts_.output.end(task, stream->stream);
      return {};
    case MessageType::credit: {
      input_.taken(task, TRY(decode_credit(message.payload)));
      return {};
    }
    default:
      return fail(Errc::protocol, format("unknown message {}", message.header.type));
  }
}

void Job::end_streams(size_t agent) {
  for (const size_t task : plan_.hosts[agent].tasks) {
    parts_.output.end(task, TaskStream::output);
    parts_.output.end(task, TaskStream::error);
    input_.task_gone(task);
  }
}

void Job::agent_lost(size_t agent, const std::string& why) {
  if (agent_done_[agent]) return;
  agent_done_[agent] = true;
  must_sweep_ = true;
  end_streams(agent);
  relays_.drop(agent);
  tell_of_mpi(mpi_notice_.gone(agent));
  parts_.log.info("agent on {} lost: {}", plan_.hosts[agent].host.name, why);
  carry_out(supervisor_.agent_lost(agent, why, parts_.loop.now()));
  report_reason();
}

/// At once: what the other hosts run may take the grace to end.
void Job::report_reason() {
  const Outcome& outcome = supervisor_.outcome();
  if (!supervisor_.lost_host_decided() || outcome.reason_told) return;
  parts_.log.error("{}", outcome.reason);
  supervisor_.reason_told();
}

Result<Actions> Job::port_taken(size_t agent, const PortTaken& taken) {
  const std::string& host = plan_.hosts[agent].host.name;
  Actions actions = supervisor_.port_taken(format("{}: {}", host, taken.text()), parts_.loop.now());
  report_reason();
  return actions;
}

/// With its time by our clock: those of hosts may differ by seconds.
std::optional<TaskError> Job::error_of(size_t agent, const Exited& exited) {
  auto error = exited.error;
  if (error && error->when_ns > 0) {
    const int64_t now_ns = parts_.loop.now().time_since_epoch().count();
    const int64_t when_ns = clocks_.by_ours(agent, error->when_ns, exited.sent_ns, now_ns);
    error->when_ns = std::max<int64_t>(1, when_ns);
  }
  return error;
}

Result<> Job::mpi_looked(size_t agent, const MpiAlone& found) {
  if (found.tasks > plan_.hosts[agent].tasks.size())
    return fail(Errc::protocol, format("{} programs with MPI are more than all", found.tasks));
  tell_of_mpi(mpi_notice_.looked(agent, found.tasks));
  return {};
}

void Job::tell_of_mpi(const std::optional<std::string>& warning) {
  if (warning) parts_.log.warn("{}", *warning);
}

Result<Actions> Job::agent_finished(size_t agent, const Finished& finished) {
  if (!supervisor_.finishing()) return fail(Errc::protocol, "finished before it was asked to");
  agent_done_[agent] = true;
  parts_.record.contained_by[agent] = finished.contained_by;
  end_streams(agent);
  tell_of_mpi(mpi_notice_.gone(agent));
  const std::string& host = plan_.hosts[agent].host.name;
  if (finished.strays_ended > 0) {
    parts_.log.info("{}: ended {} process(es) that tasks had left behind", host,
                    finished.strays_ended);
  }
  parts_.log.info("{}: all has ended, as its {} shows", host, finished.contained_by);
  for (const std::string& process : finished.unkillable) {
    parts_.log.warn("{}: {} cannot be killed (it waits in the kernel); it is left there", host,
                    process);
  }
  parts_.crew.let_go(agent);
  return supervisor_.agent_finished(agent, parts_.loop.now());
}

void Job::carry_out(const Actions& actions) {
  for (const Action& action : actions) {
    switch (action.kind) {
      case Action::Kind::notify:
        parts_.rendezvous.notify(action.notice);
        break;
      case Action::Kind::signal:
        parts_.crew.send_all(MessageType::signal, encode(SignalAll{action.signal}));
        break;
      case Action::Kind::pause:
        parts_.rendezvous.pause();
        parts_.crew.send_all(MessageType::pause, {});
        break;
      case Action::Kind::suspend:
        suspend();
        break;
      case Action::Kind::resume:
        // Before the tasks go on, so that nothing of theirs finds a deadline passed.
        parts_.rendezvous.resume();
        parts_.crew.restart_leases();
        parts_.crew.send_all(MessageType::resume, {});
        break;
      case Action::Kind::finish:
        parts_.crew.send_all(MessageType::finish, encode(Finish{finish_patience(config_)}));
        break;
      case Action::Kind::abandon:
        report_failure();
        over_ = true;
        break;
      case Action::Kind::warn:
        parts_.log.warn("{}", action.text);
        break;
    }
  }
  set_timer();
  if (supervisor_.has_untold_failure() && !report_timer_) {
    report_timer_ = parts_.loop.after(report_patience, [this] { report_failure(); });
  }
}

/// By now all tasks stand still.
void Job::suspend() {
  parts_.log.info("paused; a SIGCONT (fg, bg) goes on");
  parts_.suspend();
  carry_out(supervisor_.resumed(parts_.loop.now()));
}

void Job::report_failure() {
  report_timer_ = Timer();
  if (!supervisor_.has_untold_failure()) return;
  supervisor_.failure_told();
  const auto task = task_of(supervisor_.outcome().failure->task);
  parts_.record.last_stderr = parts_.output.last_errors(*task);
  parts_.log.error("{}", failure_text(*supervisor_.outcome().failure, parts_.record.last_stderr,
                                      config_.merge_stderr ? "output" : "stderr"));
}

void Job::set_timer() {
  const Time when = supervisor_.next_deadline();
  if (when == Time::max()) {
    timer_ = Timer();
    return;
  }
  timer_ = parts_.loop.at(when, [this] { carry_out(supervisor_.tick(parts_.loop.now())); });
}

void Job::check_end() {
  const auto& failure = supervisor_.outcome().failure;
  // One that names its error is told a little later: another's may be older.
  if (supervisor_.has_untold_failure() && !failure->error) {
    const auto task = task_of(failure->task);
    if (parts_.output.ended(*task, TaskStream::error)) report_failure();
  }
  if (!supervisor_.finishing()) return;
  if (std::ranges::find(agent_done_, false) != agent_done_.end()) return;
  report_failure();
  if (must_sweep_ && !swept_) sweep_own();
  if (!must_sweep_ || swept_) over_ = true;
}

void Job::sweep_own() {
  if (sweep_) return;
  // What an agent of this machine left behind falls to us, its subreaper.
  sweep_.emplace(parts_.loop,
                 Sweep::Options{.ours = [this](pid_t pid) { return parts_.crew.owns(pid); },
                                .spared = parts_.spared},
                 [this](const Sweep::Report& report) {
                   for (const std::string& process : report.unkillable) {
                     parts_.log.warn("{} cannot be killed; it is left there", process);
                   }
                   swept_ = true;
                 });
}

}  // namespace dt
