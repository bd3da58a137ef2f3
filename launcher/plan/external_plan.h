#pragma once

#include "base/result.h"
#include "launcher/config/external_cluster.h"
#include "launcher/plan/plan.h"

#include <string>
#include <vector>

namespace dt {

/// Makes the plan of the tasks that this machine starts in a cluster that the user gave. These are
/// the task that the cluster names, or else all with an address of this machine. `own` has the
/// machine's names and addresses; 127.0.0.0/8 always counts as this machine.
/// Ranks and sizes count the whole cluster, and each host name in an address is one host there.
/// Fails with Errc::input when no task is here, or when two tasks here have the same port.
Result<Plan> make_external_plan(const ExternalCluster& given, const std::vector<Role>& roles,
                                const std::vector<std::string>& own);

}  // namespace dt
