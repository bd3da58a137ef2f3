#include "launcher/job/running_reporter.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>

namespace dt {
namespace {

Plan one_worker_on_two_hosts() {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 1}, {.name = "b", .slots = 1}};
  return make_plan(request).value();
}

struct Fixture {
  /// Runs the loop until the time limit has passed, and ends the job then.
  void pass_limit() {
    const Time limit = supervisor.time_limit();
    const Timer timer = loop->at(limit, [this] { loop->stop(); });
    REQUIRE(loop->run().has_value());
    CHECK(supervisor.tick(limit).size() == 1);
  }

  std::unique_ptr<Loop> loop = Loop::create().value();
  std::string logged;
  Log log{Log::Level::normal, [this](std::string_view line) { logged += line; }};
  Plan plan = one_worker_on_two_hosts();
  Supervisor supervisor{plan, {.timeout = milliseconds(600)}, loop->now()};
  std::map<size_t, StatesWanted> asked;
  RunningReporter reporter{
      {*loop, [this](size_t agent, const StatesWanted& wanted) { asked[agent] = wanted; }, log,
       supervisor, plan}};
};

TEST_CASE_FIXTURE(Fixture, "RunningReporter asks for the tasks that run, and logs them once") {
  supervisor.started(0, 77, loop->now());
  supervisor.started(1, 78, loop->now());
  supervisor.exited(0, {}, loop->now());
  reporter.schedule();
  reporter.report();
  CHECK(logged.empty());
  pass_limit();
  REQUIRE(asked.size() == 1);
  CHECK(asked[1] == StatesWanted{{{.task = {"worker", 1}}}});
  reporter.seen(1, {.pid = 78, .letter = 'S', .waits_at = "pipe_read"});
  reporter.report();
  reporter.report();
  CHECK(logged ==
        "dtrain: time limit of 600ms reached\ndtrain: rank 1 on b: no output yet, in pipe_read\n");
}

TEST_CASE_FIXTURE(Fixture,
                  "RunningReporter asks nobody without a time limit, or once it has passed") {
  pass_limit();
  supervisor.started(1, 78, loop->now());
  reporter.schedule();
  CHECK(loop->run_once(loop->now() + milliseconds(1)).has_value());
  CHECK(asked.empty());
}

}  // namespace
}  // namespace dt
