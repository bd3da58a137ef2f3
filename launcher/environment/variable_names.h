#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dt {

/// What each host gives anew: HOME, USER, SSH_*, what a container's runtime set, shell functions.
bool is_host_part(std::string_view name);
/// What names a place in an outer job (DTRAIN_*, an MPI's PMI and OMPI_*, a SLURM step, torchrun's)
/// and would tell a worker that it is somebody else; and OLDPWD and PORT.
bool is_outer_job(std::string_view name);
/// Whether one of the shell patterns (*, ?, [a-z]) fits the whole name.
bool fits_any(const std::string& name, std::span<const std::string> patterns);

}  // namespace dt
