#pragma once

#include "base/environment.h"
#include "launcher/config/config.h"
#include "launcher/environment/environment.h"
#include "launcher/plan/plan.h"

#include <cstddef>
#include <vector>

namespace dt {

// Variables of a step of Slurm, by which JAX and TensorFlow's SlurmClusterResolver find the
// cluster. The number of a step and PMI* are never set: MPI would connect to that step.

/// Longer lists of hosts, or of their tasks, are left out.
inline constexpr size_t slurm_list_bytes_max = 16384;

/// Adds the Slurm job's number. If the job has several ranks, adds its hosts, each with its ranks:
/// mpirun, as the one process of a job, would take them for its slots.
void add_slurm_job(Environment& common, const JobFacts& job, const Plan& plan);
/// Adds the numbers of a rank, of its host, and of all ranks. Requires a task with a rank.
void add_slurm_rank(Environment& environment, const JobFacts& job, const Plan& plan,
                    const Task& task);
/// Removes values that describe the tasks of the batch script, where the job has its own. Settings
/// of the user stay.
void remove_batch_tasks(Environment& forwarded, const RunConfig& config, const Plan& plan);

}  // namespace dt
