#pragma once

#include "base/environment.h"
#include "base/result.h"

namespace dt {

// Another launcher may start `dtrain run` several times. Each would be a world of its own.

/// Fails where srun has started this process as one of several tasks. The task with SLURM_PROCID 0
/// has the message for all: those of the others are empty. `on_terminal`: a shell of srun --pty.
Result<> check_single_task(const Environment& environment, bool on_terminal);
/// Fails where PET_NNODES shows a container of several nodes. `names_hosts`: the hosts are known,
/// so that the variable describes something else.
Result<> check_single_node(const Environment& environment, bool names_hosts);

}  // namespace dt
