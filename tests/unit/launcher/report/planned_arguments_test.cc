#include "launcher/report/planned_arguments.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Words = std::vector<std::string>;

/// Returns a plan with a ps on b and two workers on a.
Plan sample_plan() {
  Plan plan;
  plan.hosts = {{.host = {.name = "a", .slots = 2}}, {.host = {.name = "b", .slots = 1}}};
  plan.world_size = 2;
  plan.roles = {{.name = "worker", .count = 2},
                {.name = "ps", .count = 1, .command = {"serve", "{port}"}, .ranked = false}};
  plan.add({.id = {"worker", 0}, .rank = 0, .local_rank = 0});
  plan.add({.id = {"worker", 1}, .rank = 1, .local_rank = 1});
  plan.add({.id = {"ps", 0}, .agent = 1});
  return plan;
}

TEST_CASE("each task's arguments are known before the start, except addresses and ports") {
  const Plan plan = sample_plan();
  RunConfig config;
  config.command = {"train", "--i={index}", "--ps={hosts:ps}", "{master_addr}:{master_port}"};
  const PlannedWords planned(plan, config);
  CHECK(planned.changed(plan.tasks[1]) ==
        Words{"train", "--i=1", "--ps=<b>:<port>", "<master>:<port>"});
  CHECK(planned.changed(plan.tasks[2]) == Words{"serve", "<port>"});
}

TEST_CASE("the addresses of a given cluster are known") {
  Plan plan = sample_plan();
  plan.external_layout = {.cluster = {{{"ps", {{0, "h:7"}}}, {"worker", {{0, "h:8"}, {1, "h:9"}}}}},
                          .tasks_elsewhere = 0};
  RunConfig config;
  config.command = {"train", "{hosts:ps}", "{port}"};
  CHECK(PlannedWords(plan, config).changed(plan.tasks[1]) == Words{"train", "h:7", "9"});
}

TEST_CASE("arguments without changes are not shown again") {
  const Plan plan = sample_plan();
  RunConfig config;
  config.command = {"bash", "-c", "echo {rank}"};
  CHECK(PlannedWords(plan, config).changed(plan.tasks[0]).empty());
  config.command = {"train", "{rank}"};
  config.no_macros = true;
  CHECK(PlannedWords(plan, config).changed(plan.tasks[0]).empty());
  config.pass_local_rank = true;
  CHECK(PlannedWords(plan, config).changed(plan.tasks[1]) ==
        Words{"train", "{rank}", "--local_rank=1"});
}

}  // namespace
}  // namespace dt
