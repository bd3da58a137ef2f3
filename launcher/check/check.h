#pragma once

#include "launcher/config/config.h"
#include "launcher/environment/environment.h"

namespace dt {

/// `dtrain check`: diagnoses the hosts of a job without running it, and prints a table, or one JSON
/// document with config.json. Returns the exit status: 0, also with warnings; 1 after a failure; 2
/// for wrong input; 128+n after signal n.
int check(const RunConfig& config, const Environment& environment);

}  // namespace dt
