#include "launcher/job/supervision/needed_tasks.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

/// A worker and servers, whose indices have holes.
Plan plan_of(int servers) {
  Plan plan;
  plan.hosts.push_back({.host = {.name = "node", .user = {}, .slots = 8}});
  plan.add({.id = {"worker", 0}, .rank = 0});
  for (int server = 0; server < servers; ++server)
    plan.add({.id = {"ps", 2 * server}, .rank = -1});
  return plan;
}

TEST_CASE("a replicated server is excused while those next to it live") {
  const Plan plan = plan_of(4);
  const NeededTasks needed(plan, {.servers_replicated = true});
  TaskLives lives(plan);
  const auto excused = [&] {
    std::vector<size_t> all;
    for (size_t task = 0; task < plan.tasks.size(); ++task)
      if (needed.excuses(task, lives, true)) all.push_back(task);
    return all;
  };
  CHECK(excused() == std::vector<size_t>{1, 2, 3, 4});
  CHECK_FALSE(needed.excuses(2, lives, false));
  lives.fail(2);
  CHECK(excused() == std::vector<size_t>{2, 4});
}

TEST_CASE("a single server is needed") {
  const Plan plan = plan_of(1);
  CHECK_FALSE(NeededTasks(plan, {.servers_replicated = true}).excuses(1, TaskLives(plan), true));
}

}  // namespace
}  // namespace dt
