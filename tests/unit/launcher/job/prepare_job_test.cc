#include "launcher/job/prepare_job.h"

#include "tests/unit/launcher/job/idle_launcher.h"
#include "tests/unit/launcher/job/local_plan.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("prepare_job: output files that cannot be made are an error before agents get orders") {
  RunConfig config;
  config.roles = workers(2);
  config.output_dir = "/dev/null/output";
  IdleLauncher launcher(config);
  const PlannedJob planned = {.forwarded = {}, .plan = plan_of(2), .bindings = {}};
  const auto prepared = prepare_job(launcher.context, planned);
  REQUIRE_FALSE(prepared.has_value());
  CHECK(prepared.error().message.find("/dev/null/output") != std::string::npos);
  CHECK(launcher.record.plan == planned.plan);
  CHECK(launcher.record.tasks.size() == 2);
  CHECK(launcher.record.job.size() > 0);
}

}  // namespace
}  // namespace dt
