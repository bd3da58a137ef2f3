#pragma once

#include "base/io/loop.h"
#include "launcher/agent/error_folder.h"
#include "launcher/agent/local_host.h"
#include "launcher/agent/python_traceback.h"
#include "launcher/agent/task_process.h"
#include "launcher/environment/environment.h"
#include "launcher/process/oom.h"
#include "launcher/protocol/message.h"
#include "launcher/protocol/state_messages.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The tasks of this host, children of this process. Starts some of them in each round of the loop.
/// Reports their starts, output and ends in an agent's messages.
class LocalTasks {
 public:
  struct Program {
    std::string executable;
    std::vector<std::string> command;
  };
  /// The programs of the tasks, and where they run.
  struct Programs {
    Program common;  ///< for roles without a program of their own
    std::map<std::string, Program> by_role;
    std::string cwd;
    uint64_t open_files_max = 0;
    int cgroup = -1;                     ///< as in ChildRequest
    std::vector<int> task_cgroups = {};  ///< one a task instead of it; empty: none has its own
  };
  using Send = std::function<void(MessageType type, uint32_t stream, ByteSpan payload)>;

  LocalTasks(Loop& loop, Send send) : loop_(loop), send_(std::move(send)) {}
  LocalTasks(const LocalTasks&) = delete;
  LocalTasks& operator=(const LocalTasks&) = delete;

  Result<> launch(Launch wanted, Programs programs);
  /// Starts all tasks that have not been started yet.
  void start_rest() { start(launch_.tasks.size()); }
  /// True from launch() on.
  bool launched() const { return !launch_.tasks.empty(); }
  bool all_started() const { return next_start_ == launch_.tasks.size(); }
  /// Starts a task again whose process has ended. Fails with Errc::protocol when it has not.
  Result<> restart(const Restart& wanted);
  /// Starts no further task.
  void stop_starting() { start_timer_ = Timer(); }
  /// Returns the task of a stream; null when there is none.
  TaskProcess* find(uint32_t stream) const;
  /// Signals the tasks' process groups. A stop signal (TERM, INT, HUP, QUIT) is followed by
  /// SIGCONT, so that a stopped task can act on it.
  void signal(int number);
  /// Reports the tasks that have executed their program since the last call, or failed to.
  void check_execs();
  /// Reads and drops the output from now on, so that tasks do not block in a write.
  void discard_output();

  /// Returns the pids of the tasks that run.
  std::vector<pid_t> processes() const;
  /// Returns the states of those of the tasks that run here.
  States states(const StatesWanted& wanted) const;
  /// True for a task that has not been reaped; only this object may reap it.
  bool owns(pid_t pid) const;
  bool output_open() const;
  bool output_waits_for_credit() const;
  /// Returns whether output came since the last call.
  bool take_had_output() { return std::exchange(had_output_, false); }

 private:
  struct LocalTask {
    TaskId id;
    std::unique_ptr<TaskProcess> process;  ///< null when it could not be started
    PythonTraceback traceback = {};
    uint32_t attempt = first_attempt;
  };
  void start(size_t count_max);
  Result<> watch_execs();
  std::string cluster_shown_to(const TaskId& task) const;
  TaskProcess::Options options_of_tasks() const;
  CpuShare share_of(const TaskLaunch& task) const;
  const Program& program_of(const TaskId& task) const;
  void start_one(uint32_t local_index, TaskProcess::Options options);
  void start_failed(uint32_t local_index, const Error& error);
  void executed(uint32_t local_index, const Result<>& result);
  void exited(uint32_t local_index, ExitStatus status);
  std::optional<TaskError> error_of(uint32_t local_index, const ExitStatus& status) const;
  TaskProcess::Handlers handlers_for(uint32_t local_index);

  Loop& loop_;
  Send send_;
  Programs programs_;
  Launch launch_;
  HostFacts host_;
  std::string tf_cluster_;  ///< TF_CONFIG's cluster, if it is the same for all tasks
  std::vector<LocalTask> tasks_;
  int allowed_cpus_ = count_allowed_cpus();
  std::map<std::vector<int>, int> sharers_;  ///< how many tasks are bound to the same CPUs
  size_t next_start_ = 0;  ///< the first of launch_.tasks that has not been started yet
  Timer start_timer_;
  /// Each task has a copy of the writing end between its clone and its exec: all our descriptors
  /// are close-on-exec. The reading end becomes readable when the last task has executed its
  /// program.
  Pipe exec_pipe_;
  Watch exec_watch_;
  std::unique_ptr<ErrorFolder> errors_;  ///< null: it could not be made, or is not wanted
  std::string line_buffer_;              ///< the library that tasks preload; empty: none
  std::optional<OomCounter> oom_;        ///< counts since the launch
  bool stop_sent_ = false;               ///< a stop signal was sent to the tasks
  bool had_output_ = false;
};

}  // namespace dt
