#include "launcher/plan/job_shape.h"

#include "launcher/plan/plan.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("JobShape counts the hosts that have tasks with a rank, and the tasks of each role") {
  Plan plan = make_plan({.hosts = {{.name = "a", .slots = 1},
                                   {.name = "b", .slots = 2},
                                   {.name = "c", .slots = 1}}})
                  .value();
  CHECK(job_shape_of(plan) ==
        JobShape{.role_sizes = {{"worker", 4}}, .node_of_host = {0, 1, 2}, .node_count = 3});
  plan.tasks[0] = {.id = {"ps", 0}, .agent = 0};
  plan.tasks[2].id.role = "chief";
  CHECK(job_shape_of(plan) == JobShape{.role_sizes = {{"chief", 1}, {"ps", 1}, {"worker", 2}},
                                       .node_of_host = {-1, 0, 1},
                                       .node_count = 2});
}

}  // namespace
}  // namespace dt
