#pragma once

#include "base/json.h"
#include "launcher/plan/plan.h"
#include "launcher/report/stall_record.h"

#include <string>
#include <vector>

namespace dt {

/// Returns "rank 3", "ranks 0-2, 5", cut after some ranges: "ranks 0, 2, 4, 6 and 9 more".
std::string rank_list_text(const std::vector<int>& ranks);

/// Returns the log message of a stall, of at most four lines. It has the ranks that wait, the
/// operation, what the missing ranks do, and what the user can do.
std::string stall_text(const StallRecord& stall, const Plan& plan);
/// Returns the log message of its end. Requires that it has ended.
std::string stall_end_text(const StallRecord& stall);

/// Returns {operation, group, last_before, began_at_s, ended_at_s, waiting, missing}, with times
/// since `start`. See report_document().
Json stall_json(const StallRecord& stall, const Plan& plan, Time start);

}  // namespace dt
