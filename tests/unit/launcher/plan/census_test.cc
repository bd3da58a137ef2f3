#include "launcher/plan/census.h"

#include "launcher/plan/plan.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("hosts are counted that have tasks with a rank, and the tasks of each role") {
  Plan plan = make_plan({.hosts = {{.name = "a", .slots = 1},
                                   {.name = "b", .slots = 2},
                                   {.name = "c", .slots = 1}}})
                  .value();
  CHECK(take_census(plan) ==
        Census{.role_sizes = {{"worker", 4}}, .nodes = {0, 1, 2}, .node_count = 3});
  plan.tasks[0] = {.id = {"ps", 0}, .agent = 0};
  plan.tasks[2].id.role = "chief";
  CHECK(take_census(plan) == Census{.role_sizes = {{"chief", 1}, {"ps", 1}, {"worker", 2}},
                                    .nodes = {-1, 0, 1},
                                    .node_count = 2});
}

}  // namespace
}  // namespace dt
