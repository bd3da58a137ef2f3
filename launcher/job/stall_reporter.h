#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "launcher/job/stall_watch.h"
#include "launcher/job/supervision/supervisor.h"
#include "launcher/protocol/state_messages.h"
#include "launcher/report/job_record.h"
#include "rendezvous/store/server.h"

#include <functional>
#include <map>
#include <vector>

namespace dt {

/// Logs and records the stalls of a job. Takes the reports of ranks and agents to a StallWatch, and
/// carries out its steps.
class StallReporter {
 public:
  /// All of it outlives this object.
  struct Dependencies {
    Loop& loop;
    std::function<void(size_t agent, const StatesWanted& wanted)> ask_agent;
    RendezvousServer& rendezvous;
    Log& log;
    JobRecord& record;
    const Supervisor& supervisor;
    const Plan& plan;
  };
  /// `after`: RunConfig::stall_report.
  StallReporter(Dependencies parts, Duration after);
  StallReporter(const StallReporter&) = delete;
  StallReporter& operator=(const StallReporter&) = delete;
  ~StallReporter();

  /// Called with the states of tasks of one agent. Those without rank are ignored.
  void states(const States& found);
  void task_ended(size_t task);

 private:
  void reported(const TaskId& task, const WaitReport& report);
  void carry_out(const StallWatch::Steps& steps);
  void inspect(const std::vector<int>& ranks);
  void log_begin(const StallRecord& stall);
  void log_end(const StallRecord& stall);
  const Task* task_of(int rank) const;

  Dependencies parts_;
  StallWatch watch_;
  std::map<TaskId, int> ranks_;
  std::map<int, size_t> tasks_;  ///< indices into Plan::tasks, by rank
  Timer timer_;
  Timer query_;
};

}  // namespace dt
