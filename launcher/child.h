#pragma once

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "launcher/message.h"

#include <sys/types.h>

#include <cstdint>
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
  int input = -1;  ///< its descriptors 0, 1, 2; -1: /dev/null for input, ours for the others
  int output = -1;
  int error = -1;
  int death_signal = 9;         ///< the kernel sends it when our thread dies; 0: none
  uint64_t open_files_max = 0;  ///< soft limit of descriptors; 0: ours
  bool new_session = false;     ///< else a process group of its own
  int cgroup = -1;              ///< the folder of one of version 2 to be born in; -1: ours
};

/// A child process of ours. No race: its pid stays its own until reap() has been called.
class Child {
 public:
  /// Starts it by a vfork-like clone: the cost does not grow with our size, and a failed exec is
  /// known when this returns (Errc::not_found or not_runnable). The kernel sends it death_signal
  /// when this thread dies.
  static Result<Child> start(const ChildRequest& request);

  pid_t pid() const { return pid_; }
  /// Readable once it has ended.
  int pidfd() const { return pidfd_.get(); }
  /// Collects its status; call when pidfd is readable. OOM kills are not told here.
  Result<ExitStatus> reap();
  /// To its whole process group.
  void signal_group(int number) const;

 private:
  Child(pid_t pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  pid_t pid_;
  Fd pidfd_;
};

}  // namespace dt
