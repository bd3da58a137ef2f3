#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/job/gathering.h"
#include "launcher/job/job_context.h"
#include "launcher/plan/binding.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/host_resources.h"

namespace dt {

/// All that --dry-run prints, and the hosts that the plan leaves out.
struct PlannedJob {
  Environment forwarded;
  Plan plan;
  Bindings bindings;
  ResourceNeed need = ResourceNeed::nothing;
  HostHistory history = {};
};

/// Starts the agents, and plans the job on the resources that they report.
Result<PlannedJob> plan_job(JobContext& context, const Environment& environment);

}  // namespace dt
