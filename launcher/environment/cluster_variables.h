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

// What tasks are told of the job's cluster: in TF_CONFIG, and by macros in the command's words and
// the values of -x and --env-file.

/// Whether the plan has what the filter and the macros speak of; Errc::input when not. Returns
/// warnings: of words that are nearly macros.
Result<std::vector<std::string>> check_cluster_use(const RunConfig& config, const Plan& plan);

/// How much longer macros can make a task's command and environment.
uint64_t macro_growth_max(const RunConfig& config, const Plan& plan);

/// Adds to what agents are told the cluster, in so far as somebody there needs it, and what they
/// put in the place of macros: one of each for N tasks, who would else be told N clusters.
/// Errc::input when a word or value would become longer than the kernel takes.
Result<> add_cluster_use(Launch& launch, const RunConfig& config, const Plan& plan,
                         const JobFacts& facts);

}  // namespace dt
