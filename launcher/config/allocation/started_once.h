#pragma once

#include "base/environment.h"
#include "base/result.h"

namespace dt {

/// Fails when another launcher has started this `dtrain run` several times: srun, or one container
/// of each node that sets PET_NNODES. Each would be a world of its own. `names_hosts`: the hosts
/// are known, so that PET_NNODES describes something else.
Result<> check_started_once(const Environment& environment, bool names_hosts);

}  // namespace dt
