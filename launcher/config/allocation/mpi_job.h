#pragma once

#include "launcher/config/allocation/allocation.h"
#include "launcher/config/allocation/allocation_variable.h"

#include <optional>
#include <string_view>

namespace dt {

/// The variables of the hostfile, for messages.
inline constexpr std::string_view mpi_job_variables =
    "OMPI_MCA_orte_default_hostfile, I_MPI_HYDRA_HOST_FILE or HYDRA_HOST_FILE";

/// Returns the first of the variables that is set.
std::optional<AllocationVariable> mpi_job_hostfile(const Environment& environment);
/// True in a pod of Kubernetes, and for the launcher of an MPIJob.
bool is_pod(const Environment& environment);

/// Reads the hostfile that the operator of an MPIJob has written for MPI's mpirun.
Result<Allocation> read_mpi_job(const AllocationInput& input);

}  // namespace dt
