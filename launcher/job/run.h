#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/environment/environment.h"

namespace dt {

/// `dtrain run`: starts the job, supervises it to its end, and reports what failed. Returns the
/// exit status. It is that of the first worker that failed, or 128+n after signal n. It is 124
/// after --timeout, and 2-4 for dtrain's own failures.
int run(const RunConfig& config, const Environment& environment);

}  // namespace dt
