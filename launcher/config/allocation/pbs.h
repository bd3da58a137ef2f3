#pragma once

#include "launcher/config/allocation/allocation.h"

namespace dt {

/// Reads the hosts of a PBS or Torque job from the file PBS_NODEFILE. It has a line for each slot.
/// Where it has one for each host, PBS_PPN may give the slots of each of them.
Result<Allocation> read_pbs(const AllocationInput& input);

}  // namespace dt
