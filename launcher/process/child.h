#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/process/exit_status.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Everything that a new process gets. All descriptors other than the named ones are closed. All
/// signals are unblocked, and have their default action unless this process ignores them.
struct ChildRequest {
  std::string path;                      ///< of the executable; not looked up in PATH
  std::vector<std::string> arguments;    ///< argv, the first being the name
  std::vector<std::string> environment;  ///< NAME=value
  std::string cwd;                       ///< empty: inherited
  /// Descriptors of this process, each above 2, that become the child's 0, 1 and 2. For input,
  /// -1 is /dev/null. Output and error of -1 are inherited.
  int input = -1;
  int output = -1;
  int error = -1;
  int kept = -1;                ///< stays open under its number, above 2; -1: none
  int death_signal = 9;         ///< the kernel sends it when the parent's thread dies; 0: none
  uint64_t open_files_max = 0;  ///< soft limit of descriptors; 0: inherited
  bool new_session = false;     ///< false: only a new process group
  bool joins_group = false;     ///< that of this process; it gets no session and no group then
  std::vector<int> cpus = {};   ///< that it may use; empty: the same as this process
  int cgroup = -1;              ///< folder of its cgroup (version 2); -1: that of this process
};

/// A child process of this process. No race: its pid stays its own until reap() has been called.
///
/// clone(2) starts it with our memory shared (CLONE_VM) until it executes its program. So the cost
/// does not grow with our memory, and start() does not wait for the exec. Until the exec, the child
/// makes only system calls, on its own stack. It reads only the data prepared for it.
class Child {
 public:
  /// Starts the child; executed() reports later whether the exec succeeded. The caller may close
  /// `input`, `output` and `error` of the request when this returns.
  static Result<Child> start(ChildRequest request);

  /// Takes over a child that other code has started; for it, executed() is always a success.
  static Child adopt(pid_t pid, Fd pidfd) { return {pid, std::move(pidfd), nullptr}; }

  pid_t pid() const { return pid_; }
  /// Becomes readable when the child has ended.
  int pidfd() const { return pidfd_.get(); }
  /// None while the exec is pending; never none once pidfd() is readable. Fails with
  /// Errc::not_found, not_runnable or os when the program cannot run: the child then ends by
  /// itself.
  std::optional<Result<>> executed() const;
  /// Collects the exit status; blocks unless pidfd() is readable. Does not set
  /// ExitStatus::out_of_memory.
  Result<ExitStatus> reap();
  /// Valid after reap() or kill() has collected the status.
  const ResourceUse& used() const { return used_; }
  /// Sends the signal to the child's process group. Does nothing when the status has been
  /// collected: the kernel may have given the number to another process.
  void signal_group(int number) const;
  /// Sends SIGKILL to the child and its group, then collects the status. Fails with Errc::timeout
  /// when the child has not ended after `patience`. It hangs in the kernel then, and
  /// reap_strangers() collects it later.
  Result<ExitStatus> kill(Duration patience = kill_patience);
  static constexpr Duration kill_patience = milliseconds(500);

 private:
  struct PendingExec;
  /// Leaks the PendingExec if the child still reads it: freeing it would corrupt the child.
  struct ReleasePendingExec {
    void operator()(PendingExec* pending) const;
  };
  using PendingExecPtr = std::unique_ptr<PendingExec, ReleasePendingExec>;
  Child(pid_t pid, Fd pidfd, PendingExecPtr pending_exec);
  Result<ExitStatus> collect(int options);
  pid_t pid_;
  Fd pidfd_;
  PendingExecPtr pending_exec_;
  ResourceUse used_;
};

}  // namespace dt
