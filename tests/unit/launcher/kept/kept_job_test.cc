#include "launcher/kept/kept_job.h"

#include "tests/unit/run_until.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <unistd.h>

namespace dt {
namespace {

TEST_CASE("keep_output: the job's folder has the output, unless the user decides") {
  const KeepOrder order = {.folder = {.id = "a-1", .path = "/j/a-1"}};
  RunConfig config;
  keep_output(order, config);
  CHECK(config.output_dir == "/j/a-1/output");
  CHECK(config.keep_output == uint64_t{1} << 30);
  CHECK(config.end_on_lost_output == false);
  CHECK_FALSE(config.quiet);
  RunConfig own;
  own.output_dir = "logs";
  keep_output({.folder = order.folder, .detached = true}, own);
  CHECK(own.output_dir == "logs");
  CHECK_FALSE(own.keep_output);
  CHECK_FALSE(own.end_on_lost_output);
  CHECK(own.quiet);
  RunConfig none;
  none.keep_output = 0;
  keep_output(order, none);
  CHECK_FALSE(none.output_dir);
}

TEST_CASE("a kept job writes its state while it runs, and at its end") {
  const TemporaryFolder folder;
  const auto runtime = Runtime::open({}, {}).value();
  RunConfig config;
  config.command = {"true"};
  JobRecord record;
  record.job = "0123";
  Pipe started = make_pipe().value();
  const JobFolder job = {.id = "a-1", .path = folder.path()};
  const auto summary = [&] { return look_at_job(job, this_machine()).summary; };
  {
    KeptJob kept({.folder = job, .text = "schema = 1\n", .started = std::move(started.write)},
                 {config, *runtime, record});
    CHECK(folder.read("job.toml") == "schema = 1\n");
    run_until(runtime->loop(), [&] { return !folder.read("summary.json").empty(); });
    CHECK(Json::parse(folder.read("report.json")).value().find("exit_status")->text() == "null");
    CHECK(summary().job == "0123");
    Plan plan;
    plan.hosts = {{.host = {.name = "node1", .slots = 1}}};
    plan.add({.id = {"worker", 0}, .rank = 0, .local_rank = 0});
    plan.roles = workers(1);
    plan.world_size = 1;
    record.planned(plan, "0123");
    record.begin_generation(Clock::now());
    record.tasks[0].pid = 7;
    record.tasks[0].started = Clock::now();
    // The start is reported at once, with a report that has it.
    char byte = 0;
    REQUIRE(set_nonblocking(started.read.get()).has_value());
    const Time limit = Clock::now() + seconds(60);
    while (::read(started.read.get(), &byte, 1) != 1 && Clock::now() < limit)
      REQUIRE(runtime->loop().run_once(Clock::now() + milliseconds(20)).has_value());
    CHECK(byte == '\n');
    CHECK(folder.read("report.json").find("\"pid\": 7") != std::string::npos);
    CHECK(folder.read("plan.json").find("node1") != std::string::npos);
    CHECK(summary().tasks == 1);
    CHECK_FALSE(summary().exit_status);
    kept.end({.exit_status = 3, .reason = "why"});
  }
  CHECK(summary().exit_status == 3);
  CHECK(summary().reason == "why");
  CHECK(summary().ended_s);
  CHECK(Json::parse(folder.read("report.json")).value().find("exit_status")->text() == "3");
}

}  // namespace
}  // namespace dt
