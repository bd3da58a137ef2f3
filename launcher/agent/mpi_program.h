#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace dt {

/// True if a process maps the library of an MPI (Open MPI, MPICH or a relative). `maps` is the text
/// of /proc/PID/maps.
bool maps_mpi(std::string_view maps);

/// True if an MPI launcher has started a process, by the bytes of /proc/PID/environ. The variables
/// OMPI_COMM_WORLD_* prove nothing: dtrain sets them too.
bool started_by_mpi(std::string_view environment);

/// Returns how many tasks are MPI programs that no MPI launcher has started. Each of them is a
/// world of its own. A program that a task (a wrapper) has started counts as the task. May block:
/// the kernel delays /proc/PID/maps while the process changes its mappings.
uint32_t count_alone(const std::vector<pid_t>& tasks);

}  // namespace dt
