#include "launcher/agent/local_tasks.h"

#include "base/format.h"
#include "base/wall_time.h"
#include "launcher/agent/gather_facts.h"
#include "launcher/agent/local_host.h"
#include "launcher/agent/task_macros.h"
#include "launcher/process/line_buffer.h"
#include "launcher/process/sweep.h"
#include "rendezvous/cluster/tf_config.h"

#include <sys/epoll.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace dt {

namespace {

/// Tasks started in one round of the loop. Between rounds the loop handles output and ends of the
/// first tasks. A task that has ended frees descriptors, which later clones need not copy.
constexpr size_t starts_a_round = 16;

/// Python's exit status after an uncaught exception.
constexpr int python_raised_status = 1;

/// How long the interpreter may take from a traceback to its end.
constexpr int64_t python_end_ns = 5'000'000'000;

/// Returns the time in the unit and epoch of file times.
int64_t unix_ns() {
  return std::chrono::nanoseconds(WallClock::now().time_since_epoch()).count();
}

}  // namespace

TaskProcess* LocalTasks::find(uint32_t number) const {
  const auto stream = StreamId::parse(number);
  if (!stream || stream->local_index >= tasks_.size()) return nullptr;
  return tasks_[stream->local_index].process.get();
}

Result<> LocalTasks::launch(Launch wanted, Programs programs) {
  programs_ = std::move(programs);
  launch_ = std::move(wanted);
  launch_.forwarded["PWD"] = programs_.cwd;  // the launcher's PWD would be wrong after --chdir
  for (auto& [role, environment] : launch_.role_environments)
    environment.insert(launch_.forwarded.begin(), launch_.forwarded.end());
  const bool one_for_all = launch_.tf_config && launch_.cluster_filter == ClusterFilter::none;
  if (one_for_all) tf_cluster_ = tf_cluster(launch_.cluster);
  host_ = own_host_facts(launch_.excluded, launch_.own_variables);
  host_.interface = launch_.interface;
  tasks_.resize(launch_.tasks.size());
  if (launch_.error_files || launch_.line_buffer) errors_ = ErrorFolder::make();
  if (errors_ && launch_.line_buffer) line_buffer_ = write_line_buffer(errors_->path());
  for (const TaskLaunch& task : launch_.tasks)
    ++sharers_[task.cpus];
  TRY(watch_execs());
  start(starts_a_round);
  // These come after the first starts, so that those tasks load their programs meanwhile.
  oom_.emplace();
  ErrorFolder::remove_leftovers();
  return {};
}

/// When descriptors are short there is no pipe; heartbeats and output still report the execs.
Result<> LocalTasks::watch_execs() {
  auto pipe = make_pipe();
  if (!pipe) return {};
  exec_watch_ = Watch();
  exec_pipe_ = *std::move(pipe);
  exec_watch_ = TRY(loop_.watch(exec_pipe_.read.get(), EPOLLIN, [this](uint32_t) {
    exec_watch_ = Watch();
    check_execs();
  }));
  return {};
}

Result<> LocalTasks::restart(const Restart& wanted) {
  const auto task = std::ranges::find(tasks_, wanted.task, &LocalTask::id);
  const bool ended = task != tasks_.end() && task->process && task->process->exited();
  if (!ended || wanted.attempt != task->attempt + 1) {
    return fail(Errc::protocol, format("restart of {} as attempt {}, which is not its next one",
                                       wanted.task.text(), wanted.attempt));
  }
  const auto local_index = static_cast<uint32_t>(task - tasks_.begin());
  for (const auto& [name, value] : wanted.changes)
    launch_.tasks[local_index].environment[name] = value;
  if (errors_) errors_->clear(local_index);
  TaskProcess::Options options = options_of_tasks();
  for (const TaskStream stream : written_streams)
    options.carried[stream] = task->process->release(stream);
  options.carried[TaskStream::result].unread.clear();  // a result is of one attempt
  task->process.reset();
  task->traceback = {};
  task->attempt = wanted.attempt;
  const bool starting = next_start_ < launch_.tasks.size();
  if (!starting) TRY(watch_execs());
  start_one(local_index, std::move(options));
  if (!starting) exec_pipe_.write.reset();
  return {};
}

void LocalTasks::start(size_t count_max) {
  const size_t end = next_start_ + std::min(count_max, launch_.tasks.size() - next_start_);
  while (next_start_ < end) {
    const auto local_index = static_cast<uint32_t>(next_start_++);
    TaskProcess::Options options = options_of_tasks();
    options.wants_input = launch_.tasks[local_index].wants_input;
    start_one(local_index, std::move(options));
  }
  if (next_start_ < launch_.tasks.size()) {
    start_timer_ = loop_.after(Duration::zero(), [this] { start(starts_a_round); });
  } else {
    exec_pipe_.write.reset();
  }
}

TaskProcess::Options LocalTasks::options_of_tasks() const {
  return {.merge_stderr = launch_.merge_stderr, .wants_result = launch_.results};
}

CpuShare LocalTasks::share_of(const TaskLaunch& task) const {
  const int bound = static_cast<int>(task.cpus.size());
  return {.cpus = task.cpus.empty() ? allowed_cpus_ : std::min(bound, allowed_cpus_),
          .tasks = sharers_.at(task.cpus)};
}

const LocalTasks::Program& LocalTasks::program_of(const TaskId& task) const {
  const auto own = programs_.by_role.find(task.role);
  return own == programs_.by_role.end() ? programs_.common : own->second;
}

std::string LocalTasks::cluster_shown_to(const TaskId& task) const {
  if (!launch_.tf_config || launch_.cluster_filter == ClusterFilter::none) return tf_cluster_;
  return tf_cluster(seen_by(task, launch_.cluster, launch_.cluster_filter));
}

void LocalTasks::start_one(uint32_t local_index, TaskProcess::Options options) {
  const TaskLaunch& wanted = launch_.tasks[local_index];
  LocalTask& task = tasks_[local_index];
  task.id = wanted.id;
  const Environment added =
      added_environment(launch_.common, wanted.environment, cluster_shown_to(wanted.id), wanted.id);
  Environment environment =
      worker_environment(forwarded_of_task(launch_, wanted), host_, added, share_of(wanted));
  if (errors_ && launch_.error_files)
    environment.emplace("TORCHELASTIC_ERROR_FILE", errors_->file_of(local_index));
  const Program& program = program_of(wanted.id);
  options.line_buffered = !line_buffer_.empty() && !leaves_our_files(program.command);
  if (options.line_buffered) add_line_buffer(environment, line_buffer_);
  ChildRequest request = {.path = program.executable,
                          .arguments = command_of_task(program.command, launch_, wanted),
                          .environment = environment_entries(environment),
                          .cwd = programs_.cwd,
                          .open_files_max = programs_.open_files_max,
                          .cpus = wanted.cpus,
                          .cgroup = programs_.task_cgroups.empty()
                                        ? programs_.cgroup
                                        : programs_.task_cgroups[local_index]};
  auto process =
      TaskProcess::start(loop_, std::move(request), std::move(options), handlers_for(local_index));
  if (process) {
    task.process = *std::move(process);
  } else {
    start_failed(local_index, process.error());
  }
}

void LocalTasks::start_failed(uint32_t local_index, const Error& error) {
  send_(MessageType::start_failed, 0,
        encode(StartFailed{tasks_[local_index].id, exit_status_of(error.code), error.message}));
}

void LocalTasks::executed(uint32_t local_index, const Result<>& result) {
  const LocalTask& task = tasks_[local_index];
  if (result) {
    send_(MessageType::started, 0, encode(Started{task.id, task.process->pid()}));
  } else {
    start_failed(local_index, result.error());
  }
}

void LocalTasks::check_execs() {
  for (const LocalTask& task : tasks_) {
    if (task.process) task.process->check_exec();
  }
}

TaskProcess::Handlers LocalTasks::handlers_for(uint32_t local_index) {
  return {
      .on_executed = [this, local_index](const Result<>& result) { executed(local_index, result); },
      .on_output =
          [this, local_index](TaskStream stream, ByteSpan bytes) {
            had_output_ = true;
            const bool error = stream == TaskStream::error || launch_.merge_stderr;
            if (error) tasks_[local_index].traceback.add(as_text(bytes), unix_ns());
            send_(MessageType::output, StreamId{local_index, stream}.number(), bytes);
          },
      .on_output_end =
          [this, local_index](TaskStream stream) {
            send_(MessageType::output_end, StreamId{local_index, stream}.number(), {});
          },
      .on_input_taken =
          [this, local_index](uint32_t bytes) {
            send_(MessageType::credit, StreamId{local_index, TaskStream::input}.number(),
                  encode_credit(bytes));
          },
      .on_exit = [this, local_index](ExitStatus status) { exited(local_index, status); },
  };
}

void LocalTasks::exited(uint32_t local_index, ExitStatus status) {
  if (status.signal == SIGKILL) status.out_of_memory = oom_ && oom_->take_kill();
  const LocalTask& task = tasks_[local_index];
  const auto error = error_of(local_index, status);
  send_(MessageType::exited, 0,
        encode(Exited{task.id, status, task.process->used(), error, error ? unix_ns() : 0,
                      status.good() ? "" : misleading_own_name()}));
  reap_strangers([this](pid_t pid) { return owns(pid); });
}

std::optional<TaskError> LocalTasks::error_of(uint32_t local_index,
                                              const ExitStatus& status) const {
  if (status.good()) return std::nullopt;
  auto recorded = errors_ ? errors_->read(local_index) : std::nullopt;
  const PythonTraceback& traceback = tasks_[local_index].traceback;
  if (recorded || !traceback.error()) return recorded;
  const bool raised = status.signal == 0 && status.code == python_raised_status;
  if (raised && !stop_sent_) return traceback.error();
  // A stop signal may come while the interpreter ends: peers notice the failure and end before it.
  const bool new_one = unix_ns() - traceback.error()->when_ns < python_end_ns;
  const bool ending = raised || (status.signal == SIGTERM && traceback.is_last());
  // With any other end, the task has handled the exception of its traceback.
  return new_one && ending ? traceback.error() : std::nullopt;
}

void LocalTasks::signal(int number) {
  const bool means_stop =
      number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
  stop_sent_ = stop_sent_ || means_stop;
  for (const LocalTask& task : tasks_) {
    if (!task.process) continue;
    task.process->signal(number);
    // A stopped process could not act on the signal.
    if (means_stop) task.process->signal(SIGCONT);
  }
}

std::vector<pid_t> LocalTasks::processes() const {
  std::vector<pid_t> all;
  for (const LocalTask& task : tasks_) {
    if (task.process && !task.process->exited()) all.push_back(task.process->pid());
  }
  return all;
}

States LocalTasks::states(const StatesWanted& wanted) const {
  States states;
  for (const StatesWanted::Member& member : wanted.tasks) {
    const auto task = std::ranges::find(tasks_, member.task, &LocalTask::id);
    if (task == tasks_.end() || !task->process || task->process->exited()) continue;
    const pid_t first = task->process->pid();
    const auto joined = static_cast<pid_t>(member.pid);
    const pid_t pid = is_within(joined, first) ? joined : first;
    states.tasks.push_back({member.task, read_process_state(pid)});
  }
  return states;
}

bool LocalTasks::owns(pid_t pid) const {
  return std::ranges::any_of(tasks_, [pid](const LocalTask& task) {
    return task.process && !task.process->exited() && task.process->pid() == pid;
  });
}

void LocalTasks::discard_output() {
  for (const LocalTask& task : tasks_) {
    if (task.process) task.process->discard_output();
  }
}

bool LocalTasks::output_open() const {
  return std::ranges::any_of(
      tasks_, [](const LocalTask& task) { return task.process && task.process->output_open(); });
}

bool LocalTasks::output_waits_for_credit() const {
  return std::ranges::any_of(tasks_, [](const LocalTask& task) {
    return task.process && task.process->output_waits_for_credit();
  });
}

}  // namespace dt
