#pragma once

#include "launcher/process/sweep.h"

#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <vector>

namespace dt {

/// The children that this process got since this object was made. Other tests of the same program
/// may have left children, running or ended.
class NewChildren {
 public:
  std::vector<pid_t> pids() const {
    std::vector<pid_t> all = existing_children();
    std::erase_if(all,
                  [this](pid_t pid) { return std::ranges::find(before_, pid) != before_.end(); });
    return all;
  }
  /// Waits for their ends, and collects their status.
  void collect() const {
    for (const pid_t pid : pids())
      waitpid(pid, nullptr, 0);
  }

 private:
  std::vector<pid_t> before_ = existing_children();
};

}  // namespace dt
