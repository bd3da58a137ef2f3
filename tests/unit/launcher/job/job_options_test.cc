#include "launcher/job/job_options.h"

#include "launcher/process/sweep.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("supervisor_options: what the user chose, and the functions of the job") {
  RunConfig config;
  config.grace = seconds(3);
  config.timeout = seconds(60);
  config.continue_on_failure = true;
  config.success.by = SuccessBy::worker_0;
  const Time deadline = Time() + seconds(9);
  const Supervisor::Options options = supervisor_options(
      config, deadline, [](const Outcome&) { return true; }, [] { return false; });
  CHECK(options.grace == seconds(3));
  CHECK(options.timeout == seconds(60));
  CHECK(options.start_deadline == deadline);
  CHECK(options.continue_on_failure);
  CHECK(options.success.by == SuccessBy::worker_0);
  CHECK(options.may_restart(Outcome()));
  CHECK_FALSE(options.writes_file());
}

TEST_CASE("with_job_id: in the names of dtrain's files, unless macros are off") {
  RunConfig config;
  config.output_dir = "logs/{job_id}/{rank}";
  config.report = "{job_id}-{job_id}.json";
  config.warnings = {"{job_id} is there"};
  const RunConfig named = with_job_id(config, "ab12");
  CHECK(named.output_dir == "logs/ab12/{rank}");
  CHECK_FALSE(named.result_dir);
  CHECK(named.report == "ab12-ab12.json");
  CHECK(named.warnings == std::vector<std::string>{"ab12 is there"});
  config.no_macros = true;
  CHECK(with_job_id(config, "ab12").report == config.report);
}

TEST_CASE("finish_patience: tasks that --clean all ends have the whole grace") {
  RunConfig config;
  config.grace = seconds(33);
  CHECK(finish_patience(config) == Sweep::usual_patience);
  config.success.clean = CleanUp::all;
  CHECK(finish_patience(config) == seconds(33));
}

TEST_CASE("names_python: by the command of the job or of a role") {
  RunConfig config;
  config.command = {"./train", "--epochs"};
  CHECK_FALSE(names_python(config));
  config.command = {"nice", "/usr/bin/python3.11", "x"};
  CHECK(names_python(config));
  config.command = {"./train.py"};
  CHECK(names_python(config));
  config.command = {};
  config.roles = {{.name = "ps", .command = {"./serve"}}, {.name = "worker", .command = {"a.py"}}};
  CHECK(names_python(config));
}

}  // namespace
}  // namespace dt
