#pragma once

#include <cstdint>
#include <string>

namespace dt {

/// Counts the kernel's OOM kills in this process's memory cgroup (v1 or v2). So a SIGKILL of the
/// OOM killer can be distinguished from one that a user sent.
class OomCounter {
 public:
  OomCounter();
  /// Returns true once for each kill since the construction.
  bool take_kill();

 private:
  uint64_t count() const;
  std::string file_;  ///< has a line "oom_kill N"; empty: no memory cgroup can be read
  uint64_t seen_ = 0;
};

}  // namespace dt
