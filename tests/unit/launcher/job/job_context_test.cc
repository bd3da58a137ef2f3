#include "launcher/job/job_context.h"

#include "tests/unit/launcher/job/idle_launcher.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

TEST_CASE("JobContext: a stop signal interrupts every wait for the agents' answers") {
  const RunConfig config;
  IdleLauncher launcher(config);
  JobContext& context = launcher.context;
  CHECK(context.awaited.deadline == context.start_deadline);
  CHECK_FALSE(context.awaited.interrupted());
  REQUIRE(std::raise(SIGTERM) == 0);
  REQUIRE(launcher.runtime->loop().run_once(context.start_deadline).has_value());
  CHECK(context.awaited.interrupted());
}

}  // namespace
}  // namespace dt
