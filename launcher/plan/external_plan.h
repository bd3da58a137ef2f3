#pragma once

#include "base/result.h"
#include "launcher/config/external_cluster.h"
#include "launcher/plan/plan.h"

#include <string>
#include <vector>

namespace dt {

/// The part of a given cluster that this machine starts: the task that it names, else all whose
/// addresses are this machine's (`own`: its names and addresses; all of 127.0.0.0/8 is here, too).
/// Ranks, sizes and places are those in the whole cluster, where an address' host is a host.
/// Errc::input when no task is here, or two of them have one port.
Result<Plan> make_external_plan(const ExternalCluster& given, const std::vector<Role>& roles,
                                const std::vector<std::string>& own);

}  // namespace dt
