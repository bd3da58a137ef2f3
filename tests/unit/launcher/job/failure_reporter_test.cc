#include "launcher/job/failure_reporter.h"

#include "launcher/job/supervision/supervisor.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>

namespace dt {
namespace {

Plan two_workers() {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 1}, {.name = "b", .slots = 1}};
  return make_plan(request).value();
}

struct Fixture {
  TemporaryFolder folder;
  std::unique_ptr<Loop> loop = Loop::create().value();
  Fd file{::open((folder.path() + "/out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
  std::unique_ptr<Sink> sink = Sink::open(*loop, file.get(), [](const Error&) {}).value();
  std::string logged;
  Log log{Log::Level::normal, [this](std::string_view line) { logged += line; }};
  Plan plan = two_workers();
  Supervisor supervisor{plan, {}, Time()};
  std::unique_ptr<TaskOutput> output =
      TaskOutput::open(plan, {.quiet = true}, *sink, *sink, log).value();
  JobRecord record;
  FailureReporter reporter{{*loop, supervisor.verdict(), *output, log, record}, "stderr"};

  void fail_task(size_t task, const std::optional<TaskError>& error = {}) {
    supervisor.started(task, 7, Time());
    supervisor.exited(task, {.code = 3}, Time(), error);
  }
};

TEST_CASE_FIXTURE(Fixture, "FailureReporter waits for the end of stderr, and reports once") {
  reporter.report_if_complete();
  reporter.report_now();
  CHECK(logged.empty());
  fail_task(1);
  CHECK(supervisor.verdict().failed_task() == 1);
  output->add(1, TaskStream::error, as_bytes("no such file\n"), [] {});
  reporter.report_if_complete();
  CHECK(logged.empty());
  output->end(1, TaskStream::error);
  reporter.report_if_complete();
  CHECK(logged ==
        "dtrain: rank 1 (host b, pid 7) failed: exit status 3\n"
        "dtrain: last lines of its stderr:\n"
        "dtrain:   no such file\n");
  CHECK(record.last_stderr == std::vector<std::string>{"no such file"});
  logged.clear();
  reporter.report_if_complete();
  reporter.report_now();
  CHECK(logged.empty());
}

TEST_CASE_FIXTURE(Fixture, "FailureReporter names the address of a host's own name for Gloo") {
  record.planned(plan, "job");
  record.tasks[1].own_name = "node2 is 127.0.1.1";
  fail_task(1);
  output->add(1, TaskStream::error, as_bytes("gloo/transport/tcp/device.cc: no\n"), [] {});
  output->end(1, TaskStream::error);
  reporter.report_if_complete();
  CHECK(logged.find("\ndtrain: on b, node2 is 127.0.1.1, which other hosts cannot reach; dtrain "
                    "check -H b shows it") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "FailureReporter: with a TaskError the wait goes to its end") {
  fail_task(1, TaskError{"ValueError: bad", "train.py:12", 0});
  output->end(1, TaskStream::error);
  reporter.report_if_complete();
  CHECK(logged.empty());
  reporter.report_soon();
  while (logged.empty())
    REQUIRE(loop->run_once(Time::max()));
  CHECK(logged.find("ValueError: bad (train.py:12)") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "FailureReporter logs the loss of a host at once, and once") {
  reporter.report_reason();
  CHECK(logged.empty());
  supervisor.agent_lost(0, "no heartbeat for 5s", Time());
  reporter.report_reason();
  reporter.report_reason();
  CHECK(logged == "dtrain: agent on a lost: no heartbeat for 5s\n");
  CHECK(supervisor.outcome().reason_reported);
}

}  // namespace
}  // namespace dt
