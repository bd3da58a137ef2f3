#pragma once

#include "launcher/environment/environment.h"
#include "launcher/plan/plan.h"

namespace dt {

// A set (EnvSet) is a row of the table in env_sets.cc. It has variables for all tasks alike, for
// each task, and for each task with a rank. The launcher makes them; these functions are pure.

/// Adds the variables that the job's sets have for all tasks alike.
void add_job_variables(Environment& environment, const JobFacts& job, const Plan& plan);
/// Adds the variables that the job's sets have for this task, and for its rank if it has one.
void add_task_variables(Environment& environment, const JobFacts& job, const Plan& plan,
                        const Task& task);
/// True for a set's variables that are only defaults: a value of the user overrides them.
bool yields_to_user(std::string_view name);

}  // namespace dt
