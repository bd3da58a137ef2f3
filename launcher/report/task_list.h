#pragma once

#include "launcher/plan/plan.h"
#include "launcher/report/job_record.h"
#include "launcher/report/outcome.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Returns the names of these tasks of the plan: "rank 3", "ranks 0, 1", "ranks 0, ps:1".
std::string tasks_text(const Plan& plan, const std::vector<size_t>& tasks);

/// Returns "and 2 more: ranks 1, 2 failed" for the tasks that failed besides the first. Returns
/// none when no other task failed.
std::optional<std::string> more_failures_text(const JobRecord& record, const Failure& first);

}  // namespace dt
