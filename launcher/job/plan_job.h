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

/// Starts the agents, and makes the plan of what they report.
Result<PlannedJob> plan_job(JobContext& context, const Environment& environment);

}  // namespace dt
