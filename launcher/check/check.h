#pragma once

#include "launcher/config/config.h"
#include "launcher/environment/environment.h"

namespace dt {

/// `dtrain check`: looks at the hosts of a job before it, prints a table or, with config.json, one
/// document, and returns the exit status: 0 also with warnings, 1 when something fails.
int check(const RunConfig& config, const Environment& environment);

}  // namespace dt
