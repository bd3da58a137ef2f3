#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/kept/job_folder.h"

#include <optional>

namespace dt {

/// The two processes after detach_job().
struct Detached {
  std::optional<Fd> started =
      {};  ///< in the job's process: takes a byte when all tasks have started
  std::optional<int> status = {};  ///< in the user's: of a job that has ended before that
};

/// Fails with Errc::input on a node of a job that is not node 0, or may not be: the job is kept on
/// node 0.
Result<> check_can_detach(const RunConfig& config);
/// Forks. The new process is for the job, and no terminal reaches it: its session is new, its input
/// empty, and its output the log in the job's folder. The old one returns when all tasks have
/// started, or the job has ended. Until then it copies the log to standard error, and passes stop
/// signals to the job. Call it from a process with one thread.
Result<Detached> detach_job(const JobFolder& folder);

}  // namespace dt
