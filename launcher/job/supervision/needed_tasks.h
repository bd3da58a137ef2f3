#pragma once

#include "launcher/job/supervision/task_lives.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/success_rule.h"

#include <cstddef>
#include <span>
#include <vector>

namespace dt {

/// Which tasks a job still needs, by its success rule: those that decide, workers_min workers, and
/// of parameter servers with copies the neighbours of a failed one. No I/O, no clock.
class NeededTasks {
 public:
  NeededTasks(const Plan& plan, const SuccessOptions& options);

  /// True when training continues without the task, which has failed. `running`: nothing has ended
  /// the job.
  bool excuses(size_t task, const TaskLives& lives, bool running) const;
  /// The same for all of these, the tasks of a lost host that had not ended.
  bool excuses_host(std::span<const size_t> tasks, const TaskLives& lives, bool running) const;
  /// Training continues without the task.
  void excuse(size_t task) { spares_ -= rules_[task].spare ? 1 : 0; }
  void end(size_t task);
  /// True while a task that decides has not ended.
  bool undecided() const { return deciding_ > 0; }
  /// True while a task that has time to end by itself has not ended.
  bool lingering() const { return lingering_ > 0; }

 private:
  bool neighbours_live(size_t server, const TaskLives& lives) const;

  std::vector<TaskRule> rules_;
  std::vector<size_t> ring_;  ///< of the replicated servers
  ptrdiff_t deciding_ = 0;    ///< tasks that decide and have not ended
  ptrdiff_t spares_ = 0;      ///< workers that may still fail
  ptrdiff_t lingering_ = 0;   ///< tasks that have time to end by themselves, and have not ended
};

}  // namespace dt
