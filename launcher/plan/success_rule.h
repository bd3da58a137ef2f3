#pragma once

#include "base/result.h"
#include "launcher/config/success_options.h"
#include "launcher/plan/plan.h"

#include <vector>

namespace dt {

/// The effect of one task's end on the job.
struct TaskRule {
  bool decides = false;  ///< the job is done when all such tasks have ended
  bool excused = false;  ///< training continues without it: its failure does not fail the job
  bool spare = false;    ///< a worker that is excused while SuccessOptions::workers_min are left
  /// A ps that is excused while the ones before and after it, in a ring, have not failed.
  bool replicated = false;
  bool lingers = false;  ///< ends by itself soon after the job is done: it gets time for that
  bool operator==(const TaskRule&) const = default;
};

/// Returns the rule of each task, in the order of the plan. By default a chief (or master) decides,
/// as in Kubernetes' TFJob. Without a chief, all tasks with a rank decide, since a parameter server
/// never returns. TFJob lets worker 0 alone decide then. But workers of MultiWorkerMirroredStrategy
/// and DistributedDataParallel are equals: worker 0 may return while others still save.
///
/// An evaluator decides only if `wanted` asks for it; any other task that fails ends the job. If
/// other launchers start the tasks that decide, all tasks here decide.
std::vector<TaskRule> success_rule(const Plan& plan, const SuccessOptions& wanted);

/// Fails with Errc::input, and the job's roles, when by `wanted` no task would decide. Fails also
/// when it wants more workers than the job has, or when tasks that decide would always start again.
Result<> check_success(const SuccessOptions& wanted, const Plan& plan);

}  // namespace dt
