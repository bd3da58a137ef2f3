#pragma once

#include "base/environment.h"

#include <optional>
#include <string>

namespace dt {

/// Returns a warning when `environment` is that of a Slurm allocation of several hosts. A job
/// without hosts uses only one of them. A job without hosts uses only one of them. Returns none for
/// a task of srun or of dtrain: another process has placed it.
std::optional<std::string> unused_allocation_warning(const Environment& environment);

}  // namespace dt
