#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The cgroup (version 2) of one agent's tasks. A process that starts in it stays in it, whatever
/// it does to its parent, session and environment. So kill() misses none. The destructor removes
/// the cgroup.
class TaskCgroup {
 public:
  /// Makes one below this process's own cgroup. Null when this process may not create it there, or
  /// the kernel has no cgroup.kill.
  static std::unique_ptr<TaskCgroup> make();
  /// Takes over the cgroup of a child agent that ended without removing it; null if it had none.
  static std::unique_ptr<TaskCgroup> adopt(pid_t agent);
  /// True when a cgroup that make() returns can limit memory: this process's own cgroup hands its
  /// memory controller on.
  static bool can_limit_memory();
  TaskCgroup(const TaskCgroup&) = delete;
  TaskCgroup& operator=(const TaskCgroup&) = delete;
  ~TaskCgroup();

  /// For ChildRequest::cgroup.
  int fd() const { return folder_.get(); }
  const std::string& path() const { return path_; }
  /// Makes a part for each task, with this limit of its memory in bytes; 0: none. No process may be
  /// in the cgroup yet, and none can start outside of a part from then on.
  Result<> limit_memory(const std::vector<uint64_t>& memory_max);
  /// Returns the descriptors of the parts, in the order of the tasks; empty before limit_memory().
  std::vector<int> part_fds() const;
  bool populated() const;
  /// Sends SIGKILL to all of its processes at once.
  void kill() const;

 private:
  TaskCgroup(std::string path, Fd folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  std::string path_;
  Fd folder_;
  std::vector<Fd> parts_ = {};
};

/// Returns the folder of a process's cgroup of version 2, from its /proc/PID/cgroup and the mount
/// point of the hierarchy. None when this process cannot see that cgroup.
std::optional<std::string> cgroup_folder(std::string_view proc_cgroup, std::string_view mount);

}  // namespace dt
