#pragma once

#include "base/io/loop.h"
#include "launcher/agent/local_tasks.h"
#include "launcher/agent/mpi_look.h"
#include "launcher/agent/port_watch.h"
#include "launcher/network/relay_listener.h"
#include "launcher/process/sweep.h"
#include "launcher/process/task_cgroup.h"
#include "launcher/protocol/message.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The run of an agent's tasks: from their launch until no process of them is left.
///
///   launch ── end ─▶ sweep ── no process left ─▶ output of the tasks is read ─▶ on_ended
///                      └───────── drop_output ───────────────────────────────▶ on_ended
class TaskRun {
 public:
  struct Handlers {
    LocalTasks::Send send;
    std::function<bool(pid_t)> owns_other;       ///< children that another owner collects
    std::function<std::vector<pid_t>()> spared;  ///< children that outlive the tasks
    std::function<void(const Finished&)> on_ended;
  };
  TaskRun(Loop& loop, Handlers handlers) : loop_(loop), handlers_(std::move(handlers)) {}
  TaskRun(const TaskRun&) = delete;
  TaskRun& operator=(const TaskRun&) = delete;

  /// Makes a cgroup for the tasks, if this process may. It takes a moment.
  void make_cgroup() {
    if (!cgroup_) cgroup_ = TaskCgroup::make();
  }
  /// Starts the tasks, unless another user listens on one of the ports that are held for them.
  Result<> launch(Launch wanted, LocalTasks::Programs programs, std::vector<uint16_t> ports);
  /// Starts a task again, unless end() was called.
  Result<> restart(const Restart& wanted) { return sweep_ ? Result<>() : tasks_.restart(wanted); }
  LocalTasks& tasks() { return tasks_; }
  /// Handles a relay_… message. Fails with Errc::protocol, also where no relay is.
  Result<> receive_relayed(MessageType type, uint32_t stream, ByteSpan payload);
  /// True for children that are not strangers, see reap_strangers().
  bool owns(pid_t pid) const { return tasks_.owns(pid) || handlers_.owns_other(pid); }

  /// Ends all processes, with so much time between SIGTERM and SIGKILL. A further call can only
  /// shorten it.
  void end(Duration patience);
  /// No launcher reads the output any more: starts no further task, and on_ended does not wait for
  /// output.
  void drop_output();
  /// True when no process is left.
  bool swept() const { return swept_.has_value(); }

 private:
  Result<> open_relay(Launch& wanted);
  Result<> limit_memory(const Launch& wanted);
  void watch_ports(std::vector<uint16_t> ports);
  void refuse(const Launch& wanted, const std::string& why);
  void check_for_mpi();
  void all_ended(Sweep::Report report);
  void await_output_ends();

  Loop& loop_;
  Handlers handlers_;
  std::unique_ptr<PortWatch> port_watch_;
  std::unique_ptr<RelayListener> relay_;  ///< set when tasks cannot dial the rendezvous
  LocalTasks tasks_{loop_, handlers_.send};
  std::unique_ptr<TaskCgroup> cgroup_;  ///< null: only the sweep finds the tasks' processes
  std::unique_ptr<MpiLook> mpi_look_;
  std::optional<Sweep> sweep_;
  std::optional<Sweep::Report> swept_;
  bool output_wanted_ = true;
  Timer output_timer_;
  int output_checks_ = 0;  ///< rounds of waiting for output that lacked no credit
  int quiet_checks_ = 0;   ///< successive rounds without output, when all processes have ended
};

}  // namespace dt
