#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/environment/environment.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

// Tasks get the job's cluster in TF_CONFIG. They also get it by macros in the command and in the
// values of -x and --env-file.

/// Returns warnings about texts that are nearly macros. Fails with Errc::input when the plan lacks
/// roles or tasks that --cluster-filter or the macros name.
Result<std::vector<std::string>> check_cluster_variables(const RunConfig& config, const Plan& plan);

/// Returns by how many bytes macros can lengthen a task's command and environment, at most.
uint64_t macro_growth_max(const RunConfig& config, const Plan& plan);

/// Adds to the message for an agent the cluster, if its tasks need it, and the values for macros.
/// The agent expands both for each task: N tasks would otherwise need N clusters in the message.
/// Fails with Errc::input when a text would become longer than the kernel accepts.
Result<> add_cluster_variables(Launch& launch, const RunConfig& config, const Plan& plan,
                               const JobFacts& facts);

}  // namespace dt
