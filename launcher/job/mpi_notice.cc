#include "launcher/job/mpi_notice.h"

#include "base/format.h"

#include <algorithm>

namespace dt {

std::optional<std::string> MpiNotice::reported(size_t agent, uint32_t alone) {
  if (!awaited_[agent]) return std::nullopt;
  awaited_[agent] = false;
  alone_ += alone;
  if (alone_ < 2 || std::ranges::find(awaited_, true) != awaited_.end()) return std::nullopt;
  return format(
      "{0} processes, each alone: MPI was not started by mpirun\n"
      "  dtrain does not start MPI programs itself; within a job, mpirun does:\n"
      "  dtrain run -np 1 -- mpirun -n {0} COMMAND\n"
      "  (of no concern where MPI is loaded but not used)",
      alone_);
}

}  // namespace dt
