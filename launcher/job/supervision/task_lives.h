#pragma once

#include "base/clock.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"
#include "rendezvous/cluster/task.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// The lives of a job's tasks, with their restarts. No I/O, no clock.
///
///   Starting ─▶ running:  its process runs.
///   Any ──────▶ waiting:  it has failed, or ended well and starts always; restarts are left.
///   Waiting ──▶ starting: its next attempt begins.
///   Any ──────▶ ended:    for good.
///
/// Tasks are named by their index in Plan::tasks.
class TaskLives {
 public:
  explicit TaskLives(const Plan& plan);

  /// The task has neither started nor failed to start.
  bool starting(size_t task) const { return tasks_[task].life == Life::starting; }
  /// The task has ended, and will be restarted.
  bool waits(size_t task) const { return tasks_[task].life == Life::waiting; }
  bool ended(size_t task) const { return tasks_[task].life == Life::ended; }
  bool failed(size_t task) const { return tasks_[task].failed; }
  /// The task, or its last attempt while it waits, ended well or after the job was done. False for
  /// a task that was lost with its host.
  bool completed(size_t task) const { return (ended(task) || waits(task)) && !failed(task); }
  /// The last attempt of the task so far.
  uint32_t attempt(size_t task) const { return tasks_[task].attempt; }
  int64_t pid(size_t task) const { return tasks_[task].pid; }
  /// Tasks whose process runs, for messages.
  std::vector<size_t> running() const;
  size_t size() const { return tasks_.size(); }
  /// Tasks whose first attempt has started or failed to start.
  size_t started() const { return started_; }
  bool all_ended() const { return ended_ == tasks_.size(); }

  /// Requires that the task is starting.
  void start(size_t task, int64_t pid, Time now);
  void fail(size_t task) { tasks_[task].failed = true; }
  void end(size_t task);

  /// The task starts again after an end, or after one that was `good`.
  bool has_restart(size_t task, bool good = false) const;
  /// A task that waits for its restart.
  struct Restart {
    uint32_t number = 1;
    int of = 0;  ///< the most restarts of the task, or restarts_unlimited
    Duration delay = {};
  };
  /// Requires that the task has a restart. `status`: of its last attempt. After 10 minutes of life
  /// the delays begin anew.
  Restart restart_later(size_t task, const ExitStatus& status, Time now);
  /// Returns the tasks whose wait is over: their next attempt starts.
  std::vector<size_t> take_due(Time now);
  std::vector<size_t> waiting() const;
  const std::string& cause(size_t task) const { return tasks_[task].cause; }
  Time next_restart() const;
  /// Makes each wait for a restart longer.
  void postpone(Duration by);

 private:
  enum class Life { starting, running, waiting, ended };
  struct Task {
    Life life = Life::starting;
    int64_t pid = 0;
    bool failed = false;  ///< for good, or in its last attempt while it waits
    uint32_t attempt = first_attempt;
    int restarts = 0;               ///< the most of them
    bool always = false;            ///< they follow a good end, too
    uint32_t in_a_row = 0;          ///< restarts without 10 minutes of life between them
    Time started = {};              ///< the last attempt
    Time restart_at = Time::max();  ///< while it waits
    std::string cause = {};         ///< of the end of its last attempt, while it waits
  };
  std::vector<size_t> all_with(Life life) const;

  std::vector<Task> tasks_;
  size_t started_ = 0;
  size_t ended_ = 0;
};

}  // namespace dt
