#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/environment/environment.h"

namespace dt {

/// `dtrain run`: starts the job, sees it to its end, tells people what went wrong. Returns the exit
/// status (see design: the first failed worker's, 128+n for a signal, 2-4 for our own failures).
int run(const RunConfig& config, const Environment& environment);

}  // namespace dt
