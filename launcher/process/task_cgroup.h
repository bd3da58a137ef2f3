#pragma once

#include "base/io/fd.h"

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// The cgroup (version 2) of one agent's tasks. Whoever is born in it stays in it, whatever it does
/// to its parent, its session and its environment, so that its end is complete. Gone when this is.
class TaskCgroup {
 public:
  /// Below this process's own cgroup; none where that is not ours to divide, or the kernel has no
  /// cgroup.kill.
  static std::unique_ptr<TaskCgroup> make();
  /// That of an agent below this process that has ended without removing it; none if it had none.
  static std::unique_ptr<TaskCgroup> adopt(pid_t agent);
  TaskCgroup(const TaskCgroup&) = delete;
  TaskCgroup& operator=(const TaskCgroup&) = delete;
  ~TaskCgroup();

  /// For ChildRequest::cgroup.
  int fd() const { return folder_.get(); }
  const std::string& path() const { return path_; }
  bool populated() const;
  /// SIGKILL to all that are in it, at once.
  void kill() const;

 private:
  TaskCgroup(std::string path, Fd folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  std::string path_;
  Fd folder_;
};

/// The folder of a process's cgroup of version 2, from the text of its /proc/PID/cgroup and where
/// that hierarchy is mounted; none when it is in none that can be seen from here.
std::optional<std::string> cgroup_folder(std::string_view proc_cgroup, std::string_view mount);

}  // namespace dt
