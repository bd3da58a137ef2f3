#pragma once

#include "launcher/job/generations/restart_policy.h"
#include "launcher/plan/plan.h"
#include "launcher/report/outcome.h"

#include <string>

namespace dt {

/// Returns "restart 1 of 5 after rank 3 on b: killed by SIGKILL; 16 ranks on a, b", for the user.
std::string restart_text(const WorldRestart& restart, const Failure& after, const Plan& plan);

}  // namespace dt
