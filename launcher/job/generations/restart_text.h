#pragma once

#include "launcher/job/generations/next_plan.h"
#include "launcher/job/generations/restart_policy.h"
#include "launcher/report/outcome.h"

#include <string>

namespace dt {

/// Returns "restart 1 of 5 after rank 3 on b: killed by SIGKILL; 16 ranks on a, c, e (spare)", for
/// the user. A plan without tasks, whose size is not known yet, has no ranks there. `failed` is the
/// outcome of the last generation, `next` the plan after it.
std::string restart_text(const WorldRestart& restart, const Outcome& failed, const NextPlan& next);

}  // namespace dt
