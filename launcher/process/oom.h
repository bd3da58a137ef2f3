#pragma once

#include <cstdint>
#include <string>

namespace dt {

/// Counts the kernel's OOM kills in this process's memory cgroup (v1 or v2), so that a SIGKILL can
/// be told from a person's.
class OomCounter {
 public:
  OomCounter();
  /// Whether there was a kill that has not been taken yet since this was made; takes it.
  bool take_kill();

 private:
  uint64_t count() const;
  std::string file_;  ///< holds a line "oom_kill N"; empty: no such cgroup here
  uint64_t seen_ = 0;
};

}  // namespace dt
