#pragma once

#include "launcher/environment/environment.h"
#include "launcher/plan/plan.h"

namespace dt {

// Variables for PaddlePaddle's programs. Tasks with a rank are trainers; tasks of role ps are
// parameter servers. Paddle supports only IPv4.

/// Adds the addresses of all trainers and parameter servers, with their held ports. Rank 0 opens
/// its store at MASTER_ADDR and MASTER_PORT, which Paddle prefers over its own variables.
void add_paddle_cluster(Environment& common, const JobFacts& job, const Plan& plan);
/// In a job with parameter servers: adds the task's role, trainer or server, and its address.
void add_paddle_role(Environment& environment, const JobFacts& job, const Task& task);
/// Adds a trainer's ranks and sizes, and the number of its GPU among those that it sees.
void add_paddle_rank(Environment& environment, const JobFacts& job, const Plan& plan,
                     const Task& task);

/// True for a trainer on a host without accelerators, or whose CUDA_VISIBLE_DEVICES is empty. A
/// Paddle built for CPUs makes no group of processes unless gloo is requested.
bool needs_paddle_gloo(const Environment& environment, const Environment& added, bool accelerator);

}  // namespace dt
