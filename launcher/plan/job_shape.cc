#include "launcher/plan/job_shape.h"

#include "launcher/plan/plan.h"

#include <algorithm>

namespace dt {

JobShape job_shape_of(const Plan& plan) {
  if (plan.external_layout) return plan.external_layout->shape;
  JobShape shape;
  for (const Task& task : plan.tasks)
    ++shape.role_sizes[task.id.role];
  for (const PlannedHost& host : plan.hosts) {
    const bool ranked = std::ranges::any_of(
        host.tasks, [&plan](size_t task) { return plan.tasks[task].rank >= 0; });
    shape.node_of_host.push_back(ranked ? shape.node_count++ : -1);
  }
  return shape;
}

}  // namespace dt
