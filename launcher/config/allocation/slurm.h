#pragma once

#include "launcher/config/allocation/allocation.h"

namespace dt {

/// The most groups of a heterogeneous job (MAX_HET_JOB_COMPS of Slurm).
inline constexpr int slurm_groups_max = 128;

/// Reads the nodes of a Slurm job from SLURM_JOB_NODELIST, those of a heterogeneous job from the
/// variables of its groups. A node offers `per_host` slots, else its tasks where the job asked for
/// more than one on some node. Else its GPUs, which its agent reports, or, without GPUs, 1 where
/// the job asked for tasks, and its CPUs where the job did not.
Result<Allocation> read_slurm(const AllocationInput& input);

}  // namespace dt
