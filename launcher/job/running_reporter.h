#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "launcher/job/last_signs.h"
#include "launcher/job/supervision/supervisor.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/state_messages.h"

#include <functional>

namespace dt {

/// Logs that the time limit is reached, which tasks still run then, and their last signs of life.
/// Asks the agents for the states of the processes just before, since the limit ends them.
class RunningReporter {
 public:
  /// All of it outlives this object.
  struct Dependencies {
    Loop& loop;
    std::function<void(size_t agent, const StatesWanted& wanted)> ask_agent;
    Log& log;
    Supervisor& supervisor;
    const Plan& plan;
  };
  explicit RunningReporter(Dependencies parts);
  RunningReporter(const RunningReporter&) = delete;
  RunningReporter& operator=(const RunningReporter&) = delete;

  /// Called when the task has written to stdout or stderr.
  void wrote(size_t task) { signs_.wrote(task, parts_.loop.now()); }
  /// Called with the state that an agent has reported for the task's process.
  void seen(size_t task, ProcessState state) { signs_.seen(task, std::move(state)); }
  /// Called when the time limit may have changed: a pause postpones it.
  void schedule();
  /// Logs, once, if the time limit has ended the job.
  void report();

 private:
  void ask();

  Dependencies parts_;
  LastSigns signs_;
  Timer timer_;
  bool reported_ = false;
};

}  // namespace dt
