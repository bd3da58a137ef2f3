#include "launcher/job/plan_job.h"

#include "tests/unit/launcher/job/idle_launcher.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

RunConfig config_of(int tasks) {
  RunConfig config;
  config.hosts = {{.name = "a.invalid", .slots = 2}, {.name = "b.invalid", .slots = 2}};
  config.roles = workers(tasks);
  return config;
}

TEST_CASE("plan_job: a dry run with known slots plans without any agent") {
  RunConfig config = config_of(3);
  config.dry_run = true;
  config.environment = {{.name = "SEED", .value = "7"}};
  IdleLauncher launcher(config);
  const PlannedJob planned = plan_job(launcher.context, {}).value();
  CHECK(planned.plan.hosts.size() == 2);
  CHECK(planned.plan.world_size == 3);
  CHECK(planned.forwarded.at("SEED") == "7");
  CHECK(planned.bindings.lines.empty());
  CHECK(launcher.context.agents.states().size() == 0);
}

TEST_CASE("plan_job: too few slots are an error before any agent starts") {
  const RunConfig config = config_of(5);
  IdleLauncher launcher(config);
  const auto planned = plan_job(launcher.context, {});
  REQUIRE_FALSE(planned.has_value());
  CHECK(planned.error().code == Errc::input);
  CHECK(launcher.context.agents.states().size() == 0);
}

TEST_CASE("plan_job: options must name ranks of the plan") {
  RunConfig config = config_of(3);
  config.dry_run = true;
  config.stdin_target = {.kind = StdinTarget::Kind::rank, .rank = 3};
  IdleLauncher launcher(config);
  CHECK(plan_job(launcher.context, {}).error().message ==
        "--stdin 3: there are only 3 ranks, 0 to 2");
}

}  // namespace
}  // namespace dt
