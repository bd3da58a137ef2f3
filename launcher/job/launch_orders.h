#pragma once

#include "base/bytes.h"
#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/environment/environment.h"
#include "launcher/job/reach.h"
#include "launcher/plan/binding.h"
#include "launcher/plan/plan.h"

#include <vector>

namespace dt {

/// What is known of a job when all is ready for the launch; outlives the call that it is for.
struct LaunchFacts {
  const Environment& forwarded;
  const JobFacts& job;
  const Bindings& bindings;
  const Reach& reach;
};

/// Each agent's order to start its tasks, by its number: an encoded Launch. Errc::input when one is
/// longer than a message may be, so that no agent starts anything.
Result<std::vector<Bytes>> launch_orders(const RunConfig& config, const Plan& plan,
                                         const LaunchFacts& facts);

}  // namespace dt
