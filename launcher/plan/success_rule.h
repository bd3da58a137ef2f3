#pragma once

#include "base/result.h"
#include "launcher/config/success_options.h"
#include "launcher/plan/plan.h"

#include <vector>

namespace dt {

/// What the end of one task means for the job.
struct TaskRule {
  bool decides = false;  ///< the job is done when all of these have ended
  bool excused = false;  ///< without it the training goes on: its failure is not the job's
  bool lingers = false;  ///< about to end by itself when the job is done: it gets time for that
  bool operator==(const TaskRule&) const = default;
};

/// The part of each task, as in the plan. By default a chief (or master) decides, as in Kubernetes'
/// TFJob; without one all tasks with a rank, since a parameter server never returns. There TFJob
/// takes worker 0 alone, but the workers of MultiWorkerMirroredStrategy and of
/// DistributedDataParallel are equals: 0 may be the first to return, while others still save. An
/// evaluator decides only if it is asked to; any other task that fails ends the job. Where others
/// start some of the job's tasks, and those who decide are not here, all tasks here do.
std::vector<TaskRule> success_rule(const Plan& plan, const SuccessOptions& wanted);

/// Refuses a wish by which nobody decides, and names the roles that there are.
Result<> check_success(const SuccessOptions& wanted, const Plan& plan);

}  // namespace dt
