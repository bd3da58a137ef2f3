#pragma once

#include "launcher/environment/environment.h"
#include "launcher/plan/plan.h"

namespace dt {

// A set (EnvSet) is a row of the table in env_sets.cc: what it gives to all tasks alike, to each,
// and to each that has a rank. All is made of values alone, on the launcher.

/// Adds what the job's sets give to all tasks alike.
void add_job_variables(Environment& environment, const JobFacts& job, const Plan& plan);
/// Adds what they tell this task of itself, and if it has a rank, of its place.
void add_task_variables(Environment& environment, const JobFacts& job, const Plan& plan,
                        const Task& task);
/// Whether a variable of a set stands only where the user set none of the same name.
bool yields_to_user(std::string_view name);

/// Whether it has the name of one that a job within the job would take over: Slurm says the same of
/// its allocations.
bool is_of_allocations(std::string_view name);

}  // namespace dt
