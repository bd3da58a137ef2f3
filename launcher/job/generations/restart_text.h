#pragma once

#include "launcher/job/generations/next_plan.h"
#include "launcher/job/generations/restart_policy.h"
#include "launcher/report/outcome.h"

#include <string>

namespace dt {

/// Returns "restart 1 of 5 after rank 3 on b: killed by SIGKILL; 16 ranks on a, c, e (spare)", for
/// the user. `failed` is the outcome of the last generation, `next` the plan after it. A plan
/// without tasks, whose size is not known yet, has no ranks there. Without a limit the text begins
/// with "restart 1 after".
std::string restart_text(const WorldRestart& restart, const Outcome& failed, const NextPlan& next);

/// Returns why a job without a limit of restarts ends, for the user.
std::string short_lives_text();

}  // namespace dt
