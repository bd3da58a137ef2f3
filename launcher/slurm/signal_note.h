#pragma once

#include "base/environment.h"
#include "launcher/config/config.h"

#include <optional>
#include <string>

namespace dt {

/// Returns the line for a batch job that Slurm cannot signal before its time limit without the
/// prefix B:, since its one node has no step. None for other jobs.
std::optional<std::string> signal_note(const RunConfig& config, const Environment& environment);

}  // namespace dt
