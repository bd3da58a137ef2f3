#include "launcher/job/start/rendezvous.h"

#include "tests/unit/launcher/job/local_plan.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("task_table: every task with rank, host and where its peers reach it") {
  const TaskTable table = task_table(plan_of(2), "job", at_home);
  REQUIRE(table.tasks.size() == 2);
  CHECK(table.job == "job");
  CHECK(table.generation == 1);
  CHECK(
      table.tasks[1] ==
      TaskEntry{
          .id = {"worker", 1}, .rank = 1, .agent = 0, .host = "here", .addresses = {"127.0.0.1"}});
}

}  // namespace
}  // namespace dt
