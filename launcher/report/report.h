#pragma once

#include "base/json.h"
#include "launcher/config/config.h"
#include "launcher/plan/plan.h"
#include "launcher/process/exit_status.h"
#include "launcher/report/outcome.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// What a task's end says of its cause, with the two by which training leaves a host that is being
/// taken away. Only for an end that dtrain has not brought about.
std::string failure_cause(const ExitStatus& status);

/// "rank 3 (host a, pid 77) failed: killed by SIGSEGV" and below the last lines of its `stream`.
std::string failure_text(const Failure& failure, const std::vector<std::string>& last_lines,
                         std::string_view stream = "stderr");

/// What `dtrain run --dry-run` shows: who would run where.
std::string plan_text(const Plan& plan, const std::vector<std::string>& command);
/// The cluster that was given, as {role: [address, …]}; null where none was.
Json cluster_json(const Plan& plan);
/// [{name, tasks, ranked, command}], in the order of their tasks.
Json::Array roles_json(const Plan& plan, const std::vector<std::string>& command);
Json plan_json(const Plan& plan, const std::vector<std::string>& command);

/// The text of --dry-run, as JSON with --json; also the words that macros give to tasks.
std::string plan_report(const Plan& plan, const RunConfig& config);

}  // namespace dt
