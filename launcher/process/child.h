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

/// What a new process gets. Descriptors other than the three are closed; all signals are unblocked
/// and those that are not inherited as ignored have their default action.
struct ChildRequest {
  std::string path;                      ///< of the executable; used as it is
  std::vector<std::string> arguments;    ///< argv, the first being the name
  std::vector<std::string> environment;  ///< NAME=value
  std::string cwd;                       ///< empty: ours
  /// Its descriptors 0, 1, 2, each above 2; -1: /dev/null for input, ours for the others.
  int input = -1;
  int output = -1;
  int error = -1;
  int death_signal = 9;         ///< the kernel sends it when our thread dies; 0: none
  uint64_t open_files_max = 0;  ///< soft limit of descriptors; 0: ours
  bool new_session = false;     ///< else a process group of its own
  std::vector<int> cpus = {};   ///< that it may use; empty: as we
  int cgroup = -1;              ///< the folder of one of version 2 to be born in; -1: ours
};

/// A child process of ours. No race: its pid stays its own until reap() has been called.
///
/// It is started by a clone that shares our memory until it executes its program: the cost does not
/// grow with our size, and we do not wait for it. Until then it makes only system calls, on a stack
/// of its own, and reads what was laid out for it.
class Child {
 public:
  /// Whether the program could be executed is known later: see executed(). `input`, `output` and
  /// `error` of the request may be closed when this returns.
  static Result<Child> start(ChildRequest request);

  /// A child that was started otherwise; it has no program to execute.
  static Child adopt(pid_t pid, Fd pidfd) { return {pid, std::move(pidfd), nullptr}; }

  pid_t pid() const { return pid_; }
  /// Readable once it has ended.
  int pidfd() const { return pidfd_.get(); }
  /// None while the exec is under way, which it no longer is when pidfd is readable. An error says
  /// why the program does not run (Errc::not_found, not_runnable): the child then ends by itself.
  std::optional<Result<>> executed() const;
  /// Collects its status; call when pidfd is readable. OOM kills are not told here.
  Result<ExitStatus> reap();
  /// Known once it has been reaped.
  const ResourceUse& used() const { return used_; }
  /// To its whole process group, unless its status has been collected: the number may be another's.
  void signal_group(int number) const;
  /// Sends SIGKILL to it and its group and collects its status. Fails with Errc::timeout when it
  /// has not ended by then, since the kernel holds it; reap_strangers() collects it later.
  Result<ExitStatus> kill(Duration patience = kill_patience);
  static constexpr Duration kill_patience = milliseconds(500);

 private:
  struct Flight;
  /// A child that still reads its Flight when we lose interest in it keeps it for ever.
  struct EndFlight {
    void operator()(Flight* flight) const;
  };
  Child(pid_t pid, Fd pidfd, std::unique_ptr<Flight, EndFlight> flight);
  Result<ExitStatus> collect(int options);
  pid_t pid_;
  Fd pidfd_;
  std::unique_ptr<Flight, EndFlight> flight_;
  ResourceUse used_;
};

}  // namespace dt
