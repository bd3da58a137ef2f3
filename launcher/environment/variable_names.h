#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dt {

/// True for variables that each host sets itself: HOME, USER, SSH_*, those of a container's
/// runtime, shell functions. They are not forwarded.
bool is_host_part(std::string_view name);
/// True for variables that describe a task of an outer job. They are DTRAIN_*, PMI* and OMPI_* of
/// MPI, and those of a SLURM step and of torchrun. A worker would read a wrong rank from them. Also
/// true for OLDPWD and PORT, but not for a user's settings of libdtrain, such as DTRAIN_KERNELS.
bool is_outer_job(std::string_view name);
/// True if one of the shell patterns (*, ?, [a-z]) matches the whole name.
bool fits_any(const std::string& name, std::span<const std::string> patterns);

}  // namespace dt
