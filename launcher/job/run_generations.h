#pragma once

#include "base/result.h"
#include "launcher/job/job_context.h"
#include "launcher/job/prepare_job.h"
#include "launcher/report/outcome.h"

namespace dt {

/// Runs one generation after the other, until one ends well or for good. Returns the outcome of the
/// last one as that of the job. Where a series of short ones ends a job without a limit of
/// restarts, it is that of the first of them.
Result<Outcome> run_generations(JobContext& context, PreparedJob& prepared);

}  // namespace dt
