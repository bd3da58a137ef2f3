#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/job/job_context.h"
#include "launcher/plan/binding.h"
#include "launcher/plan/plan.h"

namespace dt {

/// All that --dry-run prints, and the hosts that the plan was made from.
struct PlannedJob {
  Environment forwarded;
  Plan plan;
  Bindings bindings;
  std::vector<Host> hosts;
  std::vector<HostResources> resources;  ///< of `hosts`; empty: not needed
};

/// Starts the agents, and plans the job on the resources that they report.
Result<PlannedJob> plan_job(JobContext& context, const Environment& environment);

}  // namespace dt
