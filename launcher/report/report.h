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

/// Returns the cause of a failure in words. Explains SIGTERM, by which training ends on a host
/// that is being preempted. Requires an end that dtrain has not caused.
std::string failure_cause(const ExitStatus& status);

/// Returns "rank 3 (host a, pid 77)", without the pid of a process that did not start.
std::string process_text(const Failure& ended);

/// Returns "rank 3 (host a, pid 77) failed: killed by SIGSEGV", followed by the last lines of its
/// `stream`.
std::string failure_text(const Failure& failure, const std::vector<std::string>& last_lines,
                         std::string_view stream = "stderr");

/// Returns the text of `dtrain run --dry-run`: which task would run where.
std::string plan_text(const Plan& plan, const std::vector<std::string>& command);
/// Returns the cluster that the user gave, as {role: [address, …]}; null without one.
Json cluster_json(const Plan& plan);
/// Returns [{name, tasks, ranked, command}], in the order of the tasks.
Json::Array roles_json(const Plan& plan, const std::vector<std::string>& command);
/// Returns the document of `dtrain run --dry-run --json`, without the tasks' own commands.
Json plan_json(const Plan& plan, const std::vector<std::string>& command);

/// Returns the output of --dry-run, as JSON with --json. It includes the commands that macros
/// change. `files` is the member for --sync of the JSON document.
std::string plan_report(const Plan& plan, const RunConfig& config, Json files);

}  // namespace dt
