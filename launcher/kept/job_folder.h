#pragma once

#include "base/environment.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The folder of one job of `dtrain job run`, which stays after its end. It has job.toml,
/// plan.json, summary.json, report.json, the launcher's log, its socket and its lock, and in
/// output/ what the tasks have written, as --output-dir has it.
struct JobFolder {
  std::string id;       ///< its name: "mnist-3"
  std::string path;     ///< absolute
  int64_t began_s = 0;  ///< since 1970; 0: unknown
  std::string file(std::string_view name) const { return path + "/" + std::string(name); }
};

/// Returns the folder of this user's jobs: $XDG_STATE_HOME/dtrain/jobs, or that in
/// ~/.local/state. Fails with Errc::input when neither variable has an absolute path.
Result<std::string> jobs_root(const Environment& environment);

/// Makes the folder NAME-N for this user alone. N is one more than the highest one.
Result<JobFolder> make_job_folder(const std::string& root, const std::string& name);
/// Returns the folders of all jobs, the newest first.
std::vector<JobFolder> job_folders(const std::string& root);
/// Returns the job of this id; empty: the newest. Fails with Errc::input, and with the nearest id.
Result<JobFolder> find_job(const std::string& root, const std::string& id);
/// Removes a folder with all that is in it.
Result<> remove_job_folder(const JobFolder& folder);

/// Takes the lock that a job's launcher holds while it lives; call it once in a process. The lock
/// belongs to this process: its children do not hold it.
Result<Fd> lock_job(const JobFolder& folder);
/// Returns the process that holds the lock; none: no launcher of this machine does.
std::optional<pid_t> job_holder(const JobFolder& folder);

}  // namespace dt
