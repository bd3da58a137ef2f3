#include "launcher/agent/agent_session.h"

#include "base/format.h"
#include "launcher/process/sweep.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>
#include <utility>

namespace dt {

namespace {

/// How long the end of a task by SIGTERM waits for the scheduler's SIGTERM to the agent, which may
/// have caused it.
constexpr Duration end_patience = seconds(2);

/// How long a signal from the launcher waits for the scheduler's, which may reach the hosts at
/// different times. A second SIGTERM may be an order to end at once. SIGKILL waits, too, so that it
/// comes no sooner after SIGTERM than the launcher has it.
constexpr Duration scheduler_patience = milliseconds(200);

bool ended_by_stop(ByteSpan exited) {
  const auto end = decode<Exited>(exited);
  return end && end->status.shell_status() == 128 + SIGTERM;
}

bool is_scheduler_signal(int number) {
  return std::ranges::find(AgentSession::scheduler_signals, number) !=
         AgentSession::scheduler_signals.end();
}

}  // namespace

AgentSession::Generation::Generation(AgentSession& session)
    : preparation(
          session.loop_,
          [&session](MessageType type, ByteSpan payload) { session.link_.send(type, 0, payload); }),
      run(session.loop_,
          {.send = [&session](MessageType type, uint32_t stream,
                              ByteSpan payload) { session.send_from_run(type, stream, payload); },
           .owns_other =
               [&session](pid_t pid) {
                 return session.diagnostics_.owns(pid) || session.sync_.owns(pid) ||
                        session.mounts_.owns(pid);
               },
           .spared =
               [&session] {
                 std::vector<pid_t> spared = session.sync_.processes();
                 std::ranges::copy(session.mounts_.processes(), std::back_inserter(spared));
                 return spared;
               },
           .on_ended = [&session](const Finished& finished) { session.tasks_ended(finished); }}) {
}

AgentSession::AgentSession(Loop& loop)
    : loop_(loop), generation_(std::make_unique<Generation>(*this)) {
}

Result<> AgentSession::open(Fd in, Fd out, AgentPlace place, std::optional<Session> session) {
  scheduled_ = place.scheduled;
  become_subreaper();
  std::vector<int> awaited = {SIGCHLD, SIGPIPE, SIGXFSZ, SIGTERM, SIGINT, SIGHUP};
  if (scheduled_) awaited.insert(awaited.end(), scheduler_signals.begin(), scheduler_signals.end());
  signals_ = TRY(Signals::block(loop_, awaited, [this](int number) { signalled(number); }));
  TRY(link_.open(std::move(in), std::move(out), std::move(session)));
  link_.send(MessageType::hello, 0, encode(make_hello(place.location)));
  link_.beat();
  return {};
}

void AgentSession::signalled(int number) {
  if (number == SIGCHLD) {
    reap_strangers([this](pid_t pid) { return generation_->run.owns(pid); });
  } else if (is_from_scheduler(number)) {
    scheduler_signalled(number);
  } else if (number != SIGPIPE && number != SIGXFSZ) {
    // A signal that stops the agent stops its tasks, too.
    link_.lose();
  }
}

/// The end of the parent sends SIGTERM, too. A signal of kill(1) to an agent alone counts as the
/// scheduler's: a SIGTERM means to both that the job ends.
bool AgentSession::is_from_scheduler(int number) const {
  return scheduled_ && getppid() == parent_ && is_scheduler_signal(number);
}

/// Before the launch the launcher takes no report. It gets SIGTERM itself from a scheduler that
/// ends the whole job, but not from one that ends the agents alone.
void AgentSession::scheduler_signalled(int number) {
  if (!generation_->run.tasks().launched()) {
    stop_unreported_ = stop_unreported_ || number == SIGTERM;
    return;
  }
  if (generation_->run.tasks().all_started()) generation_->from_scheduler.note(number, loop_.now());
  link_.send(MessageType::signalled, 0, encode(Signalled{number}));
  send_held_ends();
  link_.flush();
}

void AgentSession::signal_tasks(const SignalAll& wanted) {
  if (wanted.only_caught) {
    signal_catching_descendants(wanted.number);
  } else if (scheduled_ && generation_->run.tasks().launched() &&
             (is_scheduler_signal(wanted.number) || wanted.number == SIGKILL)) {
    generation_->signal_timers[wanted.number] =
        loop_.after(scheduler_patience, [this, number = wanted.number] { pass_on(number); });
  } else {
    generation_->run.tasks().signal(wanted.number);
  }
}

void AgentSession::pass_on(int number) {
  if (generation_->from_scheduler.has(number, loop_.now())) return;
  generation_->stop_passed_on = generation_->stop_passed_on || number == SIGTERM;
  generation_->run.tasks().signal(number);
}

void AgentSession::send_from_run(MessageType type, uint32_t stream, ByteSpan payload) {
  const bool hold = scheduled_ && !generation_->stop_passed_on && type == MessageType::exited &&
                    !generation_->from_scheduler.has(SIGTERM, loop_.now()) &&
                    ended_by_stop(payload);
  if (!hold) return link_.send(type, stream, payload);
  generation_->held_ends.emplace_back(payload.begin(), payload.end());
  if (!generation_->held_timer)
    generation_->held_timer = loop_.after(end_patience, [this] { send_held_ends(); });
}

void AgentSession::send_held_ends() {
  generation_->held_timer = Timer();
  for (const Bytes& exited : std::exchange(generation_->held_ends, {}))
    link_.send(MessageType::exited, 0, exited);
}

Result<> AgentSession::handle(const FrameView& frame) {
  const auto type = static_cast<MessageType>(frame.header.type);
  if (is_of_sync(frame.header)) return sync_.receive(type, frame.payload);
  // These are meant for all tasks of the launch, also for those that have not been started yet.
  constexpr std::array to_all = {MessageType::signal, MessageType::pause, MessageType::finish,
                                 MessageType::input};
  if (std::ranges::find(to_all, type) != to_all.end()) generation_->run.tasks().start_rest();
  switch (type) {
    case MessageType::prepare: {
      auto wanted = TRY(decode<Prepare>(frame.payload));
      return prepare(std::move(wanted));
    }
    case MessageType::probe: {
      auto wanted = TRY(decode<Probe>(frame.payload));
      generation_->preparation.probe(std::move(wanted));
      return {};
    }
    case MessageType::diagnose: {
      const auto wanted = TRY(decode<DiagnoseRequest>(frame.payload));
      diagnose(wanted);
      return {};
    }
    case MessageType::measure: {
      const auto wanted = TRY(decode<Measure>(frame.payload));
      diagnostics_.measure(wanted);
      return {};
    }
    case MessageType::resources_wanted: {
      const auto wanted = TRY(decode<ResourcesWanted>(frame.payload));
      return generation_->preparation.find_resources(wanted);
    }
    case MessageType::launch: {
      auto wanted = TRY(decode<Launch>(frame.payload));
      return launch(std::move(wanted));
    }
    case MessageType::restart: {
      const auto wanted = TRY(decode<Restart>(frame.payload));
      generation_->from_scheduler = {};  // the new attempt has got none of them
      return generation_->run.restart(wanted);
    }
    case MessageType::signal: {
      const auto wanted = TRY(decode<SignalAll>(frame.payload));
      signal_tasks(wanted);
      return {};
    }
    case MessageType::pause:
      pause();
      return {};
    case MessageType::resume:
      resume();
      return {};
    case MessageType::finish: {
      const auto wanted = TRY(decode<Finish>(frame.payload));
      generation_->stays = wanted.stays;
      generation_->run.end(wanted.patience);
      return {};
    }
    case MessageType::states_wanted: {
      const auto wanted = TRY(decode<StatesWanted>(frame.payload));
      link_.send(MessageType::states, 0, encode(generation_->run.tasks().states(wanted)));
      return {};
    }
    case MessageType::heartbeat:
      return {};
    default:
      return handle_stream_message(type, frame);
  }
}

Result<> AgentSession::handle_stream_message(MessageType type, const FrameView& frame) {
  const uint32_t stream = frame.header.stream;
  TaskProcess* const task = generation_->run.tasks().find(stream);
  switch (type) {
    case MessageType::input:
      if (task == nullptr) return {};
      if (frame.payload.empty()) {
        task->end_input();
      } else {
        task->write_input(frame.payload);
      }
      return {};
    case MessageType::credit: {
      const uint32_t bytes = TRY(decode_credit(frame.payload));
      return task == nullptr ? Result<>()
                             : task->add_credit(StreamId::parse(stream)->stream, bytes);
    }
    case MessageType::relay_bytes:
    case MessageType::relay_credit:
    case MessageType::relay_end:
      // Such a message can cross the end of a generation.
      if (!generation_->run.tasks().launched()) return {};
      return generation_->run.receive_relayed(type, stream, frame.payload);
    default:
      return fail(Errc::protocol, format("unknown message {}", frame.header.type));
  }
}

Result<> AgentSession::prepare(Prepare wanted) {
  if (wanted.command.empty() && wanted.role_commands.empty())
    return fail(Errc::protocol, "prepare without a command");
  link_.set_terms({.generation = wanted.generation,
                   .heartbeat = wanted.heartbeat,
                   .dead_after = wanted.dead_after});
  if (wanted.mounts.empty()) {
    answer_prepare(std::move(wanted), {});
  } else if (wanted.stage == PrepareStage::ports) {
    // A tree or a setup may still make targets; sources are there, or the job cannot start.
    const auto found = find_sources(wanted.mounts);
    answer_prepare(std::move(wanted), found ? Result<>() : tl::unexpected(found.error()));
  } else {
    MountOrder order = {wanted.mounts, wanted.mount_patience, wanted.cwd};
    mounts_.set_up(std::move(order), [this, wanted = std::move(wanted)](const Result<>& mounted) {
      answer_prepare(wanted, mounted);
    });
  }
  return {};
}

/// Folder and command are looked up behind the mounts.
void AgentSession::answer_prepare(Prepare wanted, const Result<>& mounted) {
  const bool is_complete = wanted.stage != PrepareStage::ports;
  Prepared answer;
  if (mounted) {
    answer = generation_->preparation.prepare(std::move(wanted));
  } else {
    answer.failure = mounted.error().message;
    answer.status = exit_status_of(mounted.error().code);
  }
  link_.send(MessageType::prepared, 0, encode(answer));
  // Sent at once: the launcher prepares the launch while the cgroup is made.
  link_.flush();
  if (answer.failure.empty() && is_complete) generation_->run.make_cgroup();
  link_.beat();
}

void AgentSession::diagnose(const DiagnoseRequest& wanted) {
  DiagnoseReply answer;
  answer.received_ns = wall_clock_ns();
  link_.set_terms({.heartbeat = wanted.heartbeat, .dead_after = wanted.dead_after});
  generation_->preparation.prepare_check(wanted, answer);
  link_.beat();
  diagnostics_.diagnose(wanted, std::move(answer), open_files_max_);
}

Result<> AgentSession::launch(Launch wanted) {
  generation_->preparation.end();
  LocalTasks::Programs programs = generation_->preparation.programs();
  programs.open_files_max = open_files_max_;
  if (stop_unreported_) link_.send(MessageType::signalled, 0, encode(Signalled{SIGTERM}));
  return generation_->run.launch(std::move(wanted), std::move(programs),
                                 generation_->preparation.held_ports());
}

/// The launcher stops itself next.
void AgentSession::pause() {
  link_.pause();
  generation_->run.tasks().signal(SIGSTOP);
  link_.send(MessageType::paused, 0, {});
}

void AgentSession::resume() {
  generation_->run.tasks().signal(SIGCONT);
  link_.resume();
}

void AgentSession::launcher_lost() {
  generation_->run.drop_output();
  if (generation_->run.swept()) {
    loop_.stop();
  } else {
    generation_->run.end(Sweep::usual_patience);
  }
}

void AgentSession::tasks_ended(const Finished& finished) {
  if (link_.lost()) return loop_.stop();
  send_held_ends();
  if (generation_->stays && finished.unkillable.empty()) {
    // Not at once: the caller is a part of the generation.
    renewal_ = loop_.after(Duration::zero(), [this, finished] { begin_anew(finished); });
    return;
  }
  // A job whose end is reported has left no mount.
  mounts_.end([this, finished] { report_end(finished); });
}

void AgentSession::report_end(const Finished& finished) {
  if (link_.lost()) return loop_.stop();
  link_.send(MessageType::finished, 0, encode(finished));
  link_.flush();
  // Otherwise the end of the link stops the loop: the launcher closes it when it has read this.
  if (link_.all_sent()) loop_.stop();
}

/// Nothing of the last generation is left when the launcher learns of its end.
void AgentSession::begin_anew(const Finished& finished) {
  generation_ = std::make_unique<Generation>(*this);
  link_.send(MessageType::finished, 0, encode(finished));
}

}  // namespace dt
