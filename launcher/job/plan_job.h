#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/job/job_context.h"
#include "launcher/plan/binding.h"
#include "launcher/plan/plan.h"

namespace dt {

/// All that --dry-run prints.
struct PlannedJob {
  Environment forwarded;
  Plan plan;
  Bindings bindings;
};

/// Starts the agents, and plans the job on the resources that they report.
Result<PlannedJob> plan_job(JobContext& context, const Environment& environment);

}  // namespace dt
