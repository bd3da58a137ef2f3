#pragma once

#include "launcher/environment/environment.h"
#include "launcher/plan/plan.h"

namespace dt {

// What PaddlePaddle's programs read. Tasks with a rank are its trainers; in a job with tasks of
// role ps these are its parameter servers, and all are told which of both they are. Its addresses
// are of IPv4 alone.

/// Where all trainers and parameter servers are, each at the port that is held for it. Rank 0 opens
/// its store at MASTER_ADDR and MASTER_PORT, which Paddle would prefer anyway.
void add_paddle_cluster(Environment& common, const JobFacts& job, const Plan& plan);
/// In a job with parameter servers: which of both the task is, and its own address.
void add_paddle_role(Environment& environment, const JobFacts& job, const Task& task);
/// The place of a trainer, and the GPU that it shall use among those that it sees.
void add_paddle_rank(Environment& environment, const JobFacts& job, const Plan& plan,
                     const Task& task);

/// Whether this is a trainer on a host without accelerators, or that sees none of NVIDIA's: built
/// for CPUs, Paddle makes no group of processes unless gloo is asked for.
bool needs_paddle_gloo(const Environment& environment, const Environment& added, bool accelerator);

}  // namespace dt
