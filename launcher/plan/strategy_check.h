#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/plan/plan.h"

namespace dt {

/// Fails with Errc::input when the job's tasks do not fit to --strategy.
Result<> check_strategy(const RunConfig& config, const Plan& plan);

}  // namespace dt
