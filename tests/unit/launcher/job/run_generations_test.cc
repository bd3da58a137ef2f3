#include "launcher/job/run_generations.h"

#include "launcher/job/start/rendezvous.h"
#include "tests/unit/launcher/job/idle_launcher.h"
#include "tests/unit/launcher/job/local_plan.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("run_generations: orders that are too long are an error, and no generation follows") {
  RunConfig config;
  config.roles = workers(1);
  config.restarts.max = 3;
  IdleLauncher launcher(config);
  Runtime& runtime = *launcher.runtime;
  const Plan plan = plan_of(1);
  PreparedJob prepared;
  prepared.output = TaskOutput::open(plan, {}, runtime.out(), runtime.err(), runtime.log()).value();
  prepared.rendezvous =
      RendezvousServer::listen(runtime.loop(), {.table = task_table(plan, "job", at_home)},
                               runtime.log())
          .value();
  JobGeneration& generation = prepared.generation;
  generation.plan = plan;
  generation.bindings.tasks.resize(1);
  generation.reach = at_home;
  generation.facts = job_facts(config, plan, task_table(plan, "job", at_home), {},
                               {{.ports = {1001, 1002, 1003}}});
  generation.forwarded["LONG"] = std::string(size_t{65} << 20, 'x');
  launcher.record.planned(plan, "job");
  const auto outcome = run_generations(launcher.context, prepared);
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().code == Errc::input);
  CHECK(outcome.error().message.find("bytes of environments") != std::string::npos);
  CHECK(launcher.record.generations.size() == 1);
}

}  // namespace
}  // namespace dt
