#include "launcher/plan/census.h"

#include "launcher/plan/plan.h"

#include <algorithm>

namespace dt {

Census take_census(const Plan& plan) {
  if (plan.laid_out) return plan.laid_out->census;
  Census census;
  for (const Task& task : plan.tasks)
    ++census.role_sizes[task.id.role];
  for (const PlannedHost& host : plan.hosts) {
    const bool ranked = std::ranges::any_of(
        host.tasks, [&plan](size_t task) { return plan.tasks[task].rank >= 0; });
    census.nodes.push_back(ranked ? census.node_count++ : -1);
  }
  return census;
}

}  // namespace dt
