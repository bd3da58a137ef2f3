#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/environment/environment.h"
#include "launcher/kept/kept_job.h"

#include <optional>

namespace dt {

/// `dtrain run`, and `dtrain job run`, whose jobs are `kept` in a folder: starts the job,
/// supervises it to its end, and reports what failed. Returns the exit status, which is that of the
/// first worker that failed, 128+n after signal n, 124 after
/// --timeout, or 2-4 for dtrain's own failures.
int run(const RunConfig& config, const Environment& environment,
        std::optional<KeepOrder> kept = {});

}  // namespace dt
