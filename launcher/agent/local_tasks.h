#pragma once

#include "base/io/loop.h"
#include "launcher/agent/error_folder.h"
#include "launcher/agent/local_host.h"
#include "launcher/agent/python_traceback.h"
#include "launcher/agent/task_process.h"
#include "launcher/environment/environment.h"
#include "launcher/process/oom.h"
#include "launcher/protocol/message.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The tasks of this host, children of this process: starts them, some in each round of the loop,
/// and says what becomes of them in an agent's messages.
class LocalTasks {
 public:
  struct Program {
    std::string executable;
    std::vector<std::string> command;
  };
  /// What they run, and in what.
  struct Programs {
    Program common;  ///< of those whose role has none of its own
    std::map<std::string, Program> by_role;
    std::string cwd;
    uint64_t open_files_max = 0;
    int cgroup = -1;  ///< as in ChildRequest
  };
  using Say = std::function<void(MessageType type, uint32_t stream, ByteSpan payload)>;

  LocalTasks(Loop& loop, Say say) : loop_(loop), say_(std::move(say)) {}
  LocalTasks(const LocalTasks&) = delete;
  LocalTasks& operator=(const LocalTasks&) = delete;

  Result<> launch(Launch wanted, Programs programs);
  /// All that have not been started yet, now.
  void start_rest() { start(launch_.tasks.size()); }
  /// None but those that run already.
  void stop_starting() { start_timer_ = Timer(); }
  /// The one that this stream belongs to; null when there is none.
  TaskProcess* find(uint32_t stream) const;
  /// To their process groups. One that means stop also makes stopped ones go on, so that they can
  /// act on it.
  void signal(int number);
  /// Says which of them run their program by now.
  void look_at_execs();
  /// Nobody takes their output any more.
  void discard_output();

  /// Of those that run.
  std::vector<pid_t> processes() const;
  /// Whether this child is a task that has not been reaped.
  bool owns(pid_t pid) const;
  bool output_open() const;
  bool output_waits_for_credit() const;
  /// Whether there was any output since this was last asked.
  bool take_spoke() { return std::exchange(spoke_, false); }

 private:
  struct LocalTask {
    TaskId id;
    std::unique_ptr<TaskProcess> process;  ///< null when it could not be started
    PythonTraceback traceback = {};
  };
  void start(size_t count_max);
  std::string cluster_shown_to(const TaskId& task) const;
  CpuShare share_of(const TaskLaunch& task) const;
  const Program& program_of(const TaskId& task) const;
  void start_one(uint32_t local_index);
  void start_failed(uint32_t local_index, const Error& error);
  void executed(uint32_t local_index, const Result<>& result);
  void exited(uint32_t local_index, ExitStatus status);
  std::optional<TaskError> error_of(uint32_t local_index, const ExitStatus& status) const;
  TaskProcess::Handlers handlers_for(uint32_t local_index);

  Loop& loop_;
  Say say_;
  Programs programs_;
  Launch launch_;
  HostFacts host_;
  std::string tf_cluster_;  ///< where all tasks are shown the same
  std::vector<LocalTask> tasks_;
  int allowed_cpus_ = count_allowed_cpus();
  std::map<std::vector<int>, int> sharers_;  ///< how many tasks are bound to the same CPUs
  size_t next_start_ = 0;  ///< the first of launch_.tasks that has not been started yet
  Timer start_timer_;
  /// In every task between its clone and its exec there is a copy of the writing end, close-on-exec
  /// like all that is ours: the reading end tells when the last one runs.
  Pipe exec_pipe_;
  Watch exec_watch_;
  std::unique_ptr<ErrorFolder> errors_;  ///< null: there is none
  std::optional<OomCounter> oom_;        ///< counts since the launch
  bool told_to_end_ = false;             ///< the tasks, by a signal that means it
  bool spoke_ = false;
};

}  // namespace dt
