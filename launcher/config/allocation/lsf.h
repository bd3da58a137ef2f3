#pragma once

#include "launcher/config/allocation/allocation.h"

namespace dt {

/// Reads the hosts of an LSF job. They are in the file LSB_DJOB_HOSTFILE, a line for each slot,
/// else in LSB_MCPU_HOSTS ("a 4 b 2"), else in LSB_HOSTS, a name for each slot.
Result<Allocation> read_lsf(const AllocationInput& input);

}  // namespace dt
