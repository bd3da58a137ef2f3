#pragma once

#include "base/environment.h"
#include "cmd/bench/bench_options.h"
#include "launcher/config/files/load_config.h"

namespace dt {

/// Returns the run of `dtrain bench`: its ranks are this executable, and rank 0 prints without
/// tags. The request's other fields are the caller's.
RunRequest bench_request(const BenchOptions& options);

/// True for a terminal on stderr that shows a changing line to a person. TERM and CI decide as for
/// the status line of `dtrain run`.
bool shows_progress(bool terminal, const Environment& environment);

}  // namespace dt
