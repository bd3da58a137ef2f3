#include "launcher/report/task_list.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

Plan plan_of(int ranks) {
  Plan plan;
  for (int rank = 0; rank < ranks; ++rank)
    plan.tasks.push_back({.id = {"worker", rank}, .rank = rank});
  plan.tasks.push_back({.id = {"ps", 0}});
  return plan;
}

TEST_CASE("tasks_text names ranks, and tasks without a rank by their role") {
  const Plan plan = plan_of(12);
  CHECK(tasks_text(plan, {3}) == "rank 3");
  CHECK(tasks_text(plan, {0, 1}) == "ranks 0, 1");
  CHECK(tasks_text(plan, {0, 12}) == "ranks 0, ps:0");
  CHECK(tasks_text(plan, {12}) == "ps:0");
  CHECK(tasks_text(plan, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) ==
        "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
}

TEST_CASE("more_failures_text counts the failures besides the first") {
  JobRecord record;
  record.planned(plan_of(3), "job");
  const Failure first = {.task = {"worker", 0}};
  for (TaskRecord& task : record.tasks)
    task.exit = ExitStatus{.code = 0};
  record.tasks[0].exit->code = 5;
  CHECK_FALSE(more_failures_text(record, first));
  record.tasks[1].exit->code = 6;
  CHECK(more_failures_text(record, first) == "and 1 more: rank 1 failed");
  record.tasks[2].exit->code = 7;
  record.tasks[3].exit->code = 143;
  record.tasks[3].completed = true;
  CHECK(more_failures_text(record, first) == "and 2 more: ranks 1, 2 failed");
}

}  // namespace
}  // namespace dt
