#pragma once

#include "base/result.h"
#include "comm/schedule/algorithm.h"

namespace dt {

/// Checks steps from outside. They stay within the call's buffers and the group's ranks. They also
/// keep those promises of Steps that one rank can check alone. Fails with Errc::input and the
/// number of the first wrong step.
Result<> check_steps(const Steps& steps, Group group, const CollectiveShape& shape);

}  // namespace dt
