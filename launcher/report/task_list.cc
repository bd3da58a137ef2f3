#include "launcher/report/task_list.h"

#include "base/format.h"
#include "launcher/plan/some_of.h"

namespace dt {

std::string tasks_text(const Plan& plan, const std::vector<size_t>& tasks) {
  std::vector<std::string> names;
  bool ranks = false;
  for (const size_t task : tasks) {
    const Task& named = plan.tasks[task];
    ranks = ranks || named.rank >= 0;
    names.push_back(named.rank >= 0 ? format("{}", named.rank) : named.id.text());
  }
  const std::string all = some_of(names);
  return ranks ? format("rank{} {}", names.size() == 1 ? "" : "s", all) : all;
}

std::optional<std::string> more_failures_text(const JobRecord& record, const Failure& first) {
  std::vector<size_t> failed;
  for (size_t task = 0; task < record.tasks.size(); ++task) {
    const TaskRecord& one = record.tasks[task];
    const bool ended_badly = one.exit && !one.exit->good() && !one.completed;
    if (ended_badly && record.plan.tasks[task].id != first.task) failed.push_back(task);
  }
  if (failed.empty()) return std::nullopt;
  return format("and {} more: {} failed", failed.size(), tasks_text(record.plan, failed));
}

}  // namespace dt
