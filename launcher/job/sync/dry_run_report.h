#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/plan/plan.h"

#include <string>

namespace dt {

/// Returns the output of --dry-run: the plan, and the tree that --sync would send, as JSON with
/// --json. Fails as find_tree() and check_tree_size().
Result<std::string> dry_run_report(const Plan& plan, const RunConfig& config,
                                   const Environment& environment);

}  // namespace dt
