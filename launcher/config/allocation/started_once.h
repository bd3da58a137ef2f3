#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <cstdint>

namespace dt {

// Another launcher may start `dtrain run` several times. Each would be a world of its own.

/// Returns how many tasks srun has started with this process; 0: none has.
int64_t tasks_of_step(const Environment& environment);
/// Fails where srun has started this process as one of several tasks. The task with SLURM_PROCID 0
/// has the message for all: those of the others are empty. `on_terminal`: a shell of srun --pty.
Result<> check_single_task(const Environment& environment, bool on_terminal);

}  // namespace dt
