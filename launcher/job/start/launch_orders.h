#pragma once

#include "base/bytes.h"
#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/environment/environment.h"
#include "launcher/job/start/reach.h"
#include "launcher/plan/binding.h"
#include "launcher/plan/plan.h"
#include "launcher/report/job_record.h"
#include "launcher/sync/server/sync_events.h"

#include <vector>

namespace dt {

/// All that is known about a job before the launch. The references must outlive launch_orders().
struct LaunchFacts {
  const Environment& forwarded;
  const JobFacts& job;
  const Bindings& bindings;
  const Reach& reach;
  const std::vector<HostTree>& trees;  ///< of --sync, by agent; empty: none
};

/// Returns what each task has of its host: its address and its GPUs.
std::vector<TaskPlace> task_places(const Plan& plan, const LaunchFacts& facts);

/// Each agent's order to start its tasks, an encoded Launch, by agent number. Fails with
/// Errc::input when one order is longer than a message may be: then no agent starts any task.
Result<std::vector<Bytes>> launch_orders(const RunConfig& config, const Plan& plan,
                                         const LaunchFacts& facts);

}  // namespace dt
