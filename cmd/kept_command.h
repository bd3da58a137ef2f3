#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "cmd/kept_words.h"

namespace dt {

/// Runs `dtrain job list`, `status`, `logs`, `stop`, `wait` or `rm`. Returns the exit status. Fails
/// with Errc::input for a job or a task that there is not.
Result<int> run_kept(const KeptWords& words, const Environment& environment);

}  // namespace dt
