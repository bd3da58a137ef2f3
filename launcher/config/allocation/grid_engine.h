#pragma once

#include "launcher/config/allocation/allocation.h"

namespace dt {

/// Reads the hosts of a parallel job of Grid Engine from the file PE_HOSTFILE: "host slots queue
/// processors". A host of two queues has two lines, whose slots add up.
Result<Allocation> read_grid_engine(const AllocationInput& input);

}  // namespace dt
