#pragma once

#include "base/result.h"
#include "launcher/process/child.h"

#include <sys/types.h>

#include <utility>

namespace dt {

/// Kills the processes of a group when this process ends, whatever ends it. The death signal of a
/// child reaches only the child, and nothing that the child has started.
///
/// A fork of this process waits for the end. Destruction ends the fork, and leaves the group alone.
class GroupGuard {
 public:
  /// Requires that the group's leader is this process, or a child whose status is collected after
  /// the destruction: until then no other group can get its number. A caller that is killed before
  /// the return leaves the group running.
  static Result<GroupGuard> start(pid_t group);
  GroupGuard(GroupGuard&& other) noexcept
      : fork_(std::move(other.fork_)), is_over_(std::exchange(other.is_over_, true)) {}
  GroupGuard& operator=(GroupGuard&&) = delete;
  ~GroupGuard();

  /// The fork, for a Sweep that spares it.
  pid_t pid() const { return fork_.pid(); }

 private:
  explicit GroupGuard(Child fork) : fork_(std::move(fork)) {}

  Child fork_;
  bool is_over_ = false;
};

}  // namespace dt
