#pragma once

#include "base/json.h"
#include "base/result.h"
#include "launcher/kept/job_folder.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A machine until its next start, by which a job's folder in a shared home knows where its
/// launcher runs.
struct Machine {
  std::string name;
  std::string boot;  ///< the kernel's boot_id
  bool operator==(const Machine&) const = default;
};
Machine this_machine();

/// A job as a list of jobs shows it: the content of its summary.json.
struct JobSummary {
  std::string job;  ///< DTRAIN_JOB_ID
  Machine machine;
  std::vector<std::string> command;
  int64_t began_s = 0;  ///< since 1970
  std::optional<int64_t> ended_s;
  std::optional<int> exit_status;  ///< none: the launcher has not written its end
  std::string reason;              ///< why dtrain itself ended the job; may be empty
  int tasks = 0;
  int hosts = 0;
  int rank_digits = 1;  ///< of the first plan, as names of folders in `output` have them
  std::string output;   ///< the folder with the output of the tasks; empty: none is kept
  bool operator==(const JobSummary&) const = default;
};
Json summary_json(const JobSummary& summary);
/// Fails with Errc::input for another document.
Result<JobSummary> parse_summary(const Json& document);

enum class JobState : uint8_t {
  running,
  ended,
  lost,       ///< its launcher has died before it wrote the end
  elsewhere,  ///< another machine's launcher has not written its end
};

/// A job as its folder shows it now.
struct KnownJob {
  JobFolder folder;
  JobSummary summary;
  JobState state = JobState::lost;
  std::optional<pid_t> launcher = {};  ///< while it runs
};
/// Reads a job's folder. A job that has just begun, or whose disk was full, has no summary: all of
/// it is empty then.
KnownJob look_at_job(JobFolder folder, const Machine& here);
/// Returns "running", "ended with status 3", "lost", "on login1".
std::string state_text(const KnownJob& job);
/// Returns the summary, id and state.
Json known_job_json(const KnownJob& job);

/// Makes the folder of a job that begins now, and removes old ones.
Result<JobFolder> new_job_folder(const Environment& environment, const std::string& name);

/// Removes the folders of jobs that have ended, but for the last 30 jobs and those of the last 30
/// days.
void remove_old_jobs(const std::string& root, int64_t now_s, const Machine& here);

}  // namespace dt
