#pragma once

#include "base/json.h"
#include "base/result.h"
#include "base/wall_time.h"
#include "launcher/kept/job_summary.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/task.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A task of a job, as its report shows it.
struct ReportedTask {
  TaskId id;
  int rank = -1;
  std::string host;
  std::string address;  ///< "host:port"; empty: not launched
  std::string gpus;
  int64_t pid = 0;  ///< 0: not started
  bool ended = false;
  bool completed = false;
  std::string exit;  ///< "3" or "SIGKILL"; empty while it runs
  int restarts = 0;
  std::optional<int64_t> silent_s;  ///< since its last output; none: no output is kept

  std::string name() const { return id.text(); }
};
/// Reads the tasks of a report. Fails with Errc::input for another document.
Result<std::vector<ReportedTask>> reported_tasks(const Json& report);

/// Sets how long ago each task has written, by the times of its files.
void look_at_outputs(const JobSummary& job, WallClock::time_point now,
                     std::vector<ReportedTask>& tasks);

/// Returns the table of `dtrain job status`, for a job and its tasks.
std::string status_text(const KnownJob& job, const std::vector<ReportedTask>& tasks, int64_t now_s);
/// Returns the table of `dtrain job list`.
std::string list_text(const std::vector<KnownJob>& jobs, int64_t now_s);

/// Returns the addresses of the tasks that run. Fails with Errc::not_found when none does.
Result<ClusterSpec> running_cluster(const std::vector<ReportedTask>& tasks);

}  // namespace dt
