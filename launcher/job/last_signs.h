#pragma once

#include "base/clock.h"
#include "launcher/plan/plan.h"
#include "launcher/process/process_state.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The last signs of life of a job's tasks: their output, and the states of their processes. For
/// the message about tasks that a time limit ends.
class LastSigns {
 public:
  LastSigns(size_t tasks, Time now) : tasks_(tasks, Sign{.output = now}) {}

  void wrote(size_t task, Time now) {
    tasks_[task].output = now;
    tasks_[task].wrote = true;
  }
  void seen(size_t task, ProcessState state) { tasks_[task].state = std::move(state); }
  /// Returns a line for each of these tasks, and one for those beyond the eighth: "rank 0 on node1:
  /// silent for 19 s, in futex_wait".
  std::vector<std::string> lines(const Plan& plan, const std::vector<size_t>& running,
                                 Time now) const;

 private:
  struct Sign {
    Time output;  ///< of its last output, else of its start
    bool wrote = false;
    std::optional<ProcessState> state = {};
  };
  std::vector<Sign> tasks_;
};

}  // namespace dt
