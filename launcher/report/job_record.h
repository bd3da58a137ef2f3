#pragma once

#include "base/clock.h"
#include "base/wall_time.h"
#include "launcher/console/task_output.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"
#include "launcher/report/outcome.h"
#include "launcher/report/stall_record.h"
#include "launcher/sync/server/sync_events.h"
#include "rendezvous/store/server.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// The most attempts of a task that a report has beside the last one.
inline constexpr size_t attempts_kept = 1000;

/// An attempt of a task that was restarted after it.
struct AttemptRecord {
  int64_t pid = 0;
  std::optional<Time> started;
  std::optional<Time> ended;
  std::optional<ExitStatus> exit;
};

/// The facts of one task, by its last attempt. Each is empty until it happens.
struct TaskRecord {
  int64_t pid = 0;
  std::optional<Time> started;
  std::optional<Time> ended;
  std::optional<ExitStatus> exit;  ///< none, although ended is set: its host was lost
  std::optional<ResourceUse> used;
  bool completed = false;                   ///< ended well, or after the job had succeeded
  std::string own_name = {};                ///< Exited::own_name
  std::vector<AttemptRecord> earlier = {};  ///< the last attempts_kept of them

  /// The next attempt begins.
  void restart() {
    std::vector<AttemptRecord> all = std::move(earlier);
    if (all.size() == attempts_kept) all.erase(all.begin());
    all.push_back({.pid = pid, .started = started, .ended = ended, .exit = exit});
    *this = {};
    earlier = std::move(all);
  }
};

/// The address and the GPUs of a task on its host.
struct TaskPlace {
  std::string address;  ///< "host:port"; empty: unknown
  std::string gpus;     ///< those that it sees, as CUDA_VISIBLE_DEVICES; empty: all of its agent
};

/// One start of all tasks, until all of them have ended.
struct GenerationRecord {
  Time began;
  std::optional<Time> ended = {};
  int world_size = 0;
  std::vector<std::string> hosts = {};
  std::optional<Failure> failure = {};        ///< the first one
  std::vector<std::string> last_stderr = {};  ///< lines of the failed task
  std::string reason = {};                    ///< Outcome::reason
};

/// The files of --sync, and the hosts that got a copy of them, by name.
struct SyncRecord {
  TreeFacts tree;
  std::vector<std::pair<std::string, HostTree>> hosts;
};

/// The events of a job, recorded as they happen, for --report. A member is empty while it is not
/// known, or if the job ended before.
struct JobRecord {
  WallClock::time_point began_at = WallClock::now();
  Time began = Clock::now();
  std::string job;        ///< its id, known before all others
  std::string name = {};  ///< for people; empty: none
  Plan plan;
  std::vector<GenerationRecord> generations;
  std::vector<TaskRecord> tasks;                         ///< of the last generation, as in the plan
  std::vector<TaskPlace> places;                         ///< by task; empty before the launch
  std::vector<OutputCount> output;                       ///< by task
  std::vector<std::string> contained_by;                 ///< by host; empty: the host was lost
  std::vector<std::string> last_stderr;                  ///< lines of the first task that failed
  std::optional<RendezvousServer::Counters> rendezvous;  ///< of all generations
  std::optional<SyncRecord> sync;                        ///< none: no files were sent
  std::vector<StallRecord> stalls;  ///< in the order in which they were noticed
  bool mpi_noted = false;           ///< the user knows that MPI programs run alone

  /// A generation begins: sets its plan, and makes room for its tasks and hosts.
  void planned(const Plan& made, const std::string& id) {
    plan = made;
    job = id;
    tasks.assign(plan.tasks.size(), {});
    places.clear();
    contained_by.assign(plan.hosts.size(), {});
    last_stderr.clear();
  }

  /// The tasks of the plan are launched.
  void begin_generation(Time now) {
    generations.push_back({.began = now, .world_size = plan.world_size});
    for (const PlannedHost& planned_host : plan.hosts)
      if (!planned_host.tasks.empty()) generations.back().hosts.push_back(planned_host.host.name);
  }

  /// Its tasks have ended.
  void end_generation(const Outcome& outcome, Time now) {
    GenerationRecord& generation = generations.back();
    generation.ended = now;
    generation.failure = outcome.failure;
    generation.last_stderr = last_stderr;
    generation.reason = outcome.reason;
  }
};

}  // namespace dt
