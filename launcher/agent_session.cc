#include "launcher/agent_session.h"

#include "base/format.h"
#include "base/socket.h"
#include "base/text.h"
#include "launcher/argument_space.h"
#include "launcher/executable.h"
#include "launcher/own_host.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace dt {

namespace {

/// How long tasks and strays have between SIGTERM and SIGKILL when nobody gives them a grace.
constexpr Duration short_patience = seconds(2);

/// So much for the launcher does not wait for the end of the loop's round.
constexpr size_t outbox_bytes = size_t{64} << 10;

/// Tasks started in one round of the loop: between rounds the ends and output of the first of them
/// are dealt with, and their descriptors need not be copied into the last.
constexpr size_t starts_a_round = 16;

int exit_status_of(Errc code) {
  switch (code) {
    case Errc::not_found:
      return 127;
    case Errc::not_runnable:
      return 126;
    case Errc::input:
      return 2;
    default:
      return 3;
  }
}

Result<> check_folder(const std::string& folder) {
  const Fd opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (opened && ::access(folder.c_str(), X_OK) == 0) return {};
  return fail(Errc::input, format("cannot enter the working directory {}: {} (use --chdir)",
                                  shell_quote(printable(folder, 300)), errno_text(errno)));
}

}  // namespace

Result<> AgentSession::open(Fd in, Fd out) {
  become_subreaper();
  TRY(set_nonblocking(in.get()));
  if (out) TRY(set_nonblocking(out.get()));
  signals_ = TRY(Signals::block(loop_, {SIGCHLD, SIGPIPE, SIGTERM, SIGINT, SIGHUP},
                                [this](int number) { signalled(number); }));
  link_ = TRY(Stream::open(loop_, std::move(in), std::move(out),
                           {.on_bytes = [this](ByteSpan bytes) { return receive(bytes); },
                            .on_end = [this](const std::optional<Error>&) { launcher_lost(); },
                            .on_drained = {}}));
  link_->write(as_bytes(agent_magic));
  send(MessageType::hello, 0, encode(make_hello()));
  return {};
}

void AgentSession::signalled(int number) {
  if (number == SIGCHLD) {
    reap_strangers([this](pid_t pid) { return ours(pid); });
  } else if (number != SIGPIPE) {
    // Whoever stops the agent itself stops its tasks too.
    launcher_lost();
  }
}

void AgentSession::send(MessageType type, uint32_t stream, ByteSpan payload) {
  if (lost_) return;
  append_message(outbox_, type, {.generation = prepared_.generation, .stream = stream}, payload);
  if (outbox_.size() >= outbox_bytes) {
    send_outbox();
  } else if (!outbox_timer_) {
    outbox_timer_ = loop_.after(Duration::zero(), [this] { send_outbox(); });
  }
}

void AgentSession::send_outbox() {
  outbox_timer_ = Timer();
  if (lost_) return;
  link_->write(outbox_);
  outbox_.clear();
}

size_t AgentSession::receive(ByteSpan bytes) {
  lease_.heard(Clock::now());
  size_t used = 0;
  while (!lost_) {
    const auto frame = front_frame(bytes.subspan(used));
    if (frame && !*frame) break;
    const auto message = frame ? assembler_.add(**frame) : tl::unexpected(frame.error());
    if (!message || (*message && !handle(**message))) {
      // A launcher that does not speak our language is no launcher.
      launcher_lost();
      return bytes.size();
    }
    used += frame_header_bytes + (*frame)->header.length;
  }
  return used;
}

Result<> AgentSession::handle(const FrameView& frame) {
  // What the launcher says is meant for all tasks that it has launched.
  start_tasks(launch_.tasks.size());
  TaskProcess* const task = process_of(frame);
  switch (static_cast<MessageType>(frame.header.type)) {
    case MessageType::prepare:
      return prepare(TRY(decode<Prepare>(frame.payload)));
    case MessageType::launch:
      return launch(TRY(decode<Launch>(frame.payload)));
    case MessageType::signal:
      signal_tasks(TRY(decode<SignalAll>(frame.payload)).number);
      return {};
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
      if (task != nullptr) task->add_credit(StreamId::parse(frame.header.stream)->stream, bytes);
      return {};
    }
    case MessageType::pause:
      pause();
      return {};
    case MessageType::resume:
      resume();
      return {};
    case MessageType::finish:
      end_everything();
      return {};
    case MessageType::heartbeat:
      return {};
    default:
      return fail(Errc::protocol, format("unknown message {}", frame.header.type));
  }
}

TaskProcess* AgentSession::process_of(const FrameView& frame) const {
  const auto stream = StreamId::parse(frame.header.stream);
  if (!stream || stream->local_index >= tasks_.size()) return nullptr;
  return tasks_[stream->local_index].process.get();
}

Result<> AgentSession::prepare(Prepare wanted) {
  prepared_ = std::move(wanted);
  lease_ = Lease(prepared_.dead_after, Clock::now());
  Prepared answer;
  const auto check = [&]() -> Result<> {
    TRY(check_folder(prepared_.cwd));
    executable_ = TRY(find_executable(prepared_.command.front(), prepared_.path, prepared_.cwd));
    TRY(check_argument_space(prepared_.command,
                             prepared_.environment_bytes + argument_bytes(own_host_part()),
                             own_argument_bytes_max()));
    const uint64_t port_files =
        static_cast<uint64_t>(prepared_.ports) * (prepared_.port_range ? 2 : 1);
    TRY(check_open_files(open_files_of_tasks(prepared_.tasks, port_files),
                         format("{} tasks", prepared_.tasks)));
    held_ports_ = TRY(hold_ports(prepared_.ports, prepared_.port_range));
    for (const HeldPort& port : held_ports_)
      answer.ports.push_back(port.number);
    return {};
  };
  if (prepared_.command.empty()) return fail(Errc::protocol, "prepare without a command");
  if (const auto checked = check(); checked) {
    cgroup_ = TaskCgroup::make();
  } else {
    answer.failure = checked.error().message;
    answer.status = exit_status_of(checked.error().code);
  }
  send(MessageType::prepared, 0, encode(answer));
  beat();
  return {};
}

Result<> AgentSession::launch(Launch wanted) {
  launch_ = std::move(wanted);
  launch_.travelling["PWD"] = prepared_.cwd;  // the launcher's own would be a lie after --chdir
  host_ = own_host_facts(launch_.excluded);
  tasks_.resize(launch_.tasks.size());
  // Without this pipe, when descriptors are short, heartbeats and the tasks' ends still tell.
  if (auto pipe = make_pipe()) {
    exec_pipe_ = *std::move(pipe);
    exec_watch_ = TRY(loop_.watch(exec_pipe_.read.get(), EPOLLIN, [this](uint32_t) {
      exec_watch_ = Watch();
      look_at_execs();
    }));
  }
  start_tasks(starts_a_round);
  return {};
}

void AgentSession::start_tasks(size_t count_max) {
  const size_t end = next_start_ + std::min(count_max, launch_.tasks.size() - next_start_);
  while (next_start_ < end)
    start_task(static_cast<uint32_t>(next_start_++));
  if (next_start_ < launch_.tasks.size()) {
    start_timer_ = loop_.after(Duration::zero(), [this] { start_tasks(starts_a_round); });
  } else {
    exec_pipe_.write.reset();
  }
}

void AgentSession::start_task(uint32_t local_index) {
  const TaskLaunch& wanted = launch_.tasks[local_index];
  LocalTask& task = tasks_[local_index];
  task.id = wanted.id;
  const Environment environment = worker_environment(
      launch_.travelling, host_,
      added_environment(launch_.common, wanted.environment, launch_.tf_cluster, wanted.id),
      static_cast<int>(launch_.tasks.size()));
  ChildRequest request = {.path = executable_,
                          .arguments = prepared_.command,
                          .environment = environment_entries(environment),
                          .cwd = prepared_.cwd,
                          .open_files_max = open_files_max_,
                          .cgroup = cgroup_ ? cgroup_->fd() : -1};
  auto process =
      TaskProcess::start(loop_, std::move(request),
                         {.wants_input = wanted.wants_input, .merge_stderr = launch_.merge_stderr},
                         handlers_for(local_index));
  if (process) {
    task.process = *std::move(process);
  } else {
    start_failed(local_index, process.error());
  }
}

void AgentSession::start_failed(uint32_t local_index, const Error& error) {
  send(MessageType::start_failed, 0,
       encode(StartFailed{tasks_[local_index].id, exit_status_of(error.code), error.message}));
}

void AgentSession::task_executed(uint32_t local_index, const Result<>& result) {
  const LocalTask& task = tasks_[local_index];
  if (result) {
    send(MessageType::started, 0, encode(Started{task.id, task.process->pid()}));
  } else {
    start_failed(local_index, result.error());
  }
}

void AgentSession::look_at_execs() {
  for (const LocalTask& task : tasks_) {
    if (task.process) task.process->look_at_exec();
  }
}

TaskProcess::Handlers AgentSession::handlers_for(uint32_t local_index) {
  return {
      .on_executed = [this,
                      local_index](const Result<>& result) { task_executed(local_index, result); },
      .on_output =
          [this, local_index](TaskStream stream, ByteSpan bytes) {
            quiet_looks_ = 0;
            send(MessageType::output, StreamId{local_index, stream}.number(), bytes);
          },
      .on_output_end =
          [this, local_index](TaskStream stream) {
            send(MessageType::output_end, StreamId{local_index, stream}.number(), {});
          },
      .on_input_taken =
          [this, local_index](uint32_t bytes) {
            send(MessageType::credit, StreamId{local_index, TaskStream::input}.number(),
                 encode_credit(bytes));
          },
      .on_exit = [this, local_index](ExitStatus status) { task_exited(local_index, status); },
  };
}

void AgentSession::task_exited(uint32_t local_index, ExitStatus status) {
  if (status.signal == SIGKILL) status.out_of_memory = oom_.take_kill();
  const LocalTask& task = tasks_[local_index];
  send(MessageType::exited, 0, encode(Exited{task.id, status, task.process->used()}));
  reap_strangers([this](pid_t pid) { return ours(pid); });
}

/// The launcher stops itself next: from now on its silence means nothing, and ours neither.
void AgentSession::pause() {
  heartbeat_ = Timer();
  signal_tasks(SIGSTOP);
  send(MessageType::paused, 0, {});
}

void AgentSession::resume() {
  lease_.restart(Clock::now());
  signal_tasks(SIGCONT);
  beat();
}

void AgentSession::beat() {
  if (lease_.over(Clock::now())) {
    launcher_lost();
    return;
  }
  look_at_execs();
  send(MessageType::heartbeat, 0, {});
  heartbeat_ = loop_.after(prepared_.heartbeat, [this] { beat(); });
}

bool AgentSession::ours(pid_t pid) const {
  return std::ranges::any_of(tasks_, [pid](const LocalTask& task) {
    return task.process && !task.process->exited() && task.process->pid() == pid;
  });
}

void AgentSession::signal_tasks(int number) {
  const bool means_stop =
      number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
  for (const LocalTask& task : tasks_) {
    if (!task.process) continue;
    task.process->signal(number);
    // A stopped process could not act on it.
    if (means_stop) task.process->signal(SIGCONT);
  }
}

void AgentSession::launcher_lost() {
  if (lost_) return;
  lost_ = true;
  heartbeat_ = Timer();
  start_timer_ = Timer();
  for (const LocalTask& task : tasks_) {
    if (task.process) task.process->discard_output();
  }
  if (swept_) {
    loop_.stop();
  } else {
    end_everything();
  }
}

void AgentSession::end_everything() {
  if (sweep_) return;
  signal_tasks(SIGTERM);
  sweep_.emplace(
      loop_,
      Sweep::Options{.patience = short_patience,
                     .ours = [this](pid_t pid) { return ours(pid); },
                     .spared = {},
                     .kill_all = cgroup_ ? [this] { cgroup_->kill(); } : std::function<void()>()},
      [this](Sweep::Report report) { all_ended(std::move(report)); });
}

void AgentSession::all_ended(Sweep::Report report) {
  swept_ = std::move(report);
  // Whom the sweep could not see, since they are not below us.
  if (cgroup_ && cgroup_->populated()) cgroup_->kill();
  if (lost_) {
    loop_.stop();
  } else {
    await_output_ends();
  }
}

void AgentSession::await_output_ends() {
  constexpr int quiet_looks_max = 10;
  constexpr int looks_max = 250;
  const bool open = std::ranges::any_of(
      tasks_, [](const LocalTask& task) { return task.process && task.process->output_open(); });
  const bool blocked = std::ranges::any_of(tasks_, [](const LocalTask& task) {
    return task.process && task.process->output_waits_for_credit();
  });
  quiet_looks_ = blocked ? 0 : quiet_looks_ + 1;
  looks_ += blocked ? 0 : 1;
  // A process that is not below us may hold a pipe open for ever; what was written into it has been
  // read.
  if (!open || quiet_looks_ > quiet_looks_max || looks_ > looks_max) {
    send(MessageType::finished, 0,
         encode(Finished{.strays_ended = swept_->ended,
                         .contained_by = cgroup_ ? "cgroup" : "sweep",
                         .unkillable = swept_->unkillable}));
    send_outbox();
    // Else the end of the link stops us: the launcher closes it once it has read that.
    if (link_->unsent() == 0) loop_.stop();
    return;
  }
  output_timer_ = loop_.after(milliseconds(20), [this] { await_output_ends(); });
}

}  // namespace dt
