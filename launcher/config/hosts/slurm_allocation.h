#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <optional>
#include <string>

namespace dt {

/// Returns a warning when `environment` is that of a Slurm allocation of several hosts. A job
/// without hosts uses only one of them. Returns none for a task of srun or of dtrain: another
/// process has placed it.
std::optional<std::string> unused_allocation_warning(const Environment& environment);

/// Fails when another launcher has started this `dtrain run` several times: srun, or one container
/// of each node that sets PET_NNODES. Each would be a world of its own. `names_hosts`: the user has
/// given the hosts, so that PET_NNODES describes something else.
Result<> check_started_once(const Environment& environment, bool names_hosts);

}  // namespace dt
