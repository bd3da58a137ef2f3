#include "launcher/job/supervision/needed_tasks.h"

#include <algorithm>

namespace dt {

NeededTasks::NeededTasks(const Plan& plan, const SuccessOptions& options)
    : rules_(success_rule(plan, options)),
      deciding_(std::ranges::count(rules_, true, &TaskRule::decides)),
      spares_(std::ranges::count(rules_, true, &TaskRule::spare) - options.workers_min),
      lingering_(std::ranges::count(rules_, true, &TaskRule::lingers)) {
  for (size_t task = 0; task < rules_.size(); ++task)
    if (rules_[task].replicated) ring_.push_back(task);
  // Indices may have holes: the servers are a ring in the order of their indices.
  std::ranges::sort(ring_, {}, [&](size_t task) { return plan.tasks[task].id.index; });
}

/// True when the servers that have the same variables as this one have not failed.
bool NeededTasks::neighbours_live(size_t server, const TaskLives& lives) const {
  const auto at = static_cast<size_t>(std::ranges::find(ring_, server) - ring_.begin());
  const size_t next = ring_[(at + 1) % ring_.size()];
  const size_t previous = ring_[(at + ring_.size() - 1) % ring_.size()];
  return next != server && !lives.failed(next) && !lives.failed(previous);
}

bool NeededTasks::excuses(size_t task, const TaskLives& lives, bool running) const {
  if (rules_[task].excused) return true;
  if (rules_[task].replicated) return running && neighbours_live(task, lives);
  return rules_[task].spare && running && spares_ > 0;
}

bool NeededTasks::excuses_host(std::span<const size_t> tasks, const TaskLives& lives,
                               bool running) const {
  const auto spares = std::ranges::count_if(tasks, [&](size_t task) { return rules_[task].spare; });
  const auto servers =
      std::ranges::count_if(tasks, [&](size_t task) { return rules_[task].replicated; });
  // Two servers of one host may have the only copies of a variable.
  if (spares + servers == 0 || spares > spares_ || servers > 1) return false;
  return std::ranges::all_of(tasks, [&](size_t task) { return excuses(task, lives, running); });
}

void NeededTasks::end(size_t task) {
  deciding_ -= rules_[task].decides ? 1 : 0;
  lingering_ -= rules_[task].lingers ? 1 : 0;
}

}  // namespace dt
