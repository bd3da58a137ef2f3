#include "launcher/config/allocation/mpi_job.h"

#include "base/format.h"

#include <utility>

namespace dt {

std::optional<AllocationVariable> mpi_job_hostfile(const Environment& environment) {
  for (const std::string_view name :
       {"OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"}) {
    if (auto found = find_variable(environment, name)) return found;
  }
  return std::nullopt;
}

bool is_pod(const Environment& environment) {
  return has_variable(environment, "KUBERNETES_SERVICE_HOST") ||
         has_variable(environment, "K_MPI_JOB_ROLE");
}

Result<Allocation> read_mpi_job(const AllocationInput& input) {
  const auto file = mpi_job_hostfile(input.environment);
  if (!file) return fail(Errc::input, format("{} is not set", mpi_job_variables));
  const std::string text = TRY(file->read_file(input.read_text));
  HostList list = TRY(parse_hostfile(text, file->text()));
  return Allocation{.name = "MPIJob", .list = std::move(list), .of_pods = true};
}

}  // namespace dt
