#pragma once

#include "base/clock.h"
#include "base/wall_time.h"
#include "launcher/console/task_output.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"
#include "rendezvous/store/server.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// What is known of one task; all of it unknown until it happens.
struct TaskRecord {
  int64_t pid = 0;
  std::optional<Time> started;
  std::optional<Time> ended;
  std::optional<ExitStatus> exit;  ///< none although ended: its host was lost
  std::optional<ResourceUse> used;
  bool completed = false;  ///< ended well, or when the job was done
};

/// What happened in a job, written down as it happens, for --report. Empty is what is not known
/// yet, or never was because the job did not come so far.
struct JobRecord {
  WallClock::time_point began_at = WallClock::now();
  Time began = Clock::now();
  std::string job;
  Plan plan;
  std::vector<TaskRecord> tasks;          ///< as in the plan
  std::vector<OutputCount> output;        ///< by task
  std::vector<std::string> contained_by;  ///< by host; empty: the host was lost
  std::vector<std::string> last_stderr;   ///< lines of the first task that failed
  std::optional<RendezvousServer::Counters> rendezvous;

  /// From now on there is a plan.
  void planned(const Plan& made, const std::string& id) {
    plan = made;
    job = id;
    tasks.resize(plan.tasks.size());
    contained_by.resize(plan.hosts.size());
  }
};

}  // namespace dt
