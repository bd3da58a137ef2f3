#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace dt {

/// Whether an MPI library is among the files that a process maps, by the text of /proc/PID/maps:
/// Open MPI's, MPICH's or one of their kin.
bool maps_mpi(std::string_view maps);

/// Whether a launcher of MPI has started a process, by the bytes of /proc/PID/environ.
/// OMPI_COMM_WORLD_* are no sign of that: dtrain sets them too.
bool started_by_mpi(std::string_view environment);

/// How many of these tasks are programs with MPI that none of its launchers has started, so that
/// each is a world of its own. One that a task has started (a wrapper's) counts as the task. May
/// wait for the kernel: a process that is just changing its mappings shows them later.
uint32_t count_alone(const std::vector<pid_t>& tasks);

}  // namespace dt
