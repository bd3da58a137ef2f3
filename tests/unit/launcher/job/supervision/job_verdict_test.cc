#include "launcher/job/supervision/job_verdict.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

Failure failure_of(int rank, std::optional<TaskError> error) {
  return {.task = {"worker", rank}, .rank = rank, .error = std::move(error)};
}

TaskError error(int64_t when_ns) {
  return {"E: x", "a.py:3", when_ns};
}

TEST_CASE("the oldest error that tasks wrote is the cause, until it was reported") {
  JobVerdict verdict;
  verdict.fail(1, 3, failure_of(1, error(20)));
  verdict.fail(0, 1, failure_of(0, error(30)));
  CHECK(verdict.failed_task() == 1);
  verdict.fail(2, 1, failure_of(2, error(10)));
  CHECK(verdict.failed_task() == 2);
  CHECK(verdict.outcome().failure->error == error(10));
  CHECK(verdict.outcome().exit_status == 3);
  CHECK(verdict.has_unreported_failure());
  verdict.failure_reported();
  CHECK_FALSE(verdict.has_unreported_failure());
  verdict.fail(3, 1, failure_of(3, error(5)));
  CHECK(verdict.failed_task() == 2);
  CHECK(verdict.outcome().failed_tasks == 4);
}

TEST_CASE("a first error without a time stays the cause") {
  JobVerdict verdict;
  verdict.fail(1, 139, failure_of(1, {}));
  verdict.fail(0, 1, failure_of(0, error(10)));
  CHECK(verdict.failed_task() == 1);
}

TEST_CASE("a limit after a failure gives the reason, but not the status") {
  JobVerdict verdict;
  verdict.fail(1, 3, failure_of(1, {}));
  verdict.lose_host("agent on node0 lost");
  CHECK(verdict.outcome().reason.empty());
  verdict.time_out("time limit of 1m reached");
  CHECK(verdict.timed_out());
  CHECK_FALSE(verdict.on_request());
  CHECK_FALSE(verdict.by_lost_host());
  CHECK(verdict.outcome().exit_status == 3);
  CHECK(verdict.outcome().reason == "time limit of 1m reached");
}

TEST_CASE("only a failure or a lost host that ended the job lets it start again") {
  const auto failed = [] {
    JobVerdict verdict;
    verdict.end_by_failure();
    verdict.fail(1, 3, failure_of(1, {}));
    return verdict;
  };
  CHECK(failed().can_restart());
  CHECK_FALSE(failed().restarts());
  JobVerdict verdict = failed();
  verdict.restart();
  CHECK(verdict.restarts());
  SUBCASE("a signal comes before all tasks have ended") {
    verdict.end(130, "interrupted by SIGINT");
    CHECK_FALSE(verdict.restarts());
    CHECK(verdict.outcome().exit_status == 3);
  }
  SUBCASE("the time limit") {
    verdict.time_out("time limit of 1m reached");
    CHECK_FALSE(verdict.restarts());
  }
  SUBCASE("a lost host too, unless one cannot run tasks again") {
    JobVerdict other;
    other.end_by_failure();
    other.lose_host("agent on b lost: no heartbeat for 5s");
    CHECK(other.can_restart());
    other.decide(141, "the reader of the output has gone");
    CHECK_FALSE(other.can_restart());
    verdict.forbid_restart();
    CHECK_FALSE(verdict.restarts());
  }
  SUBCASE("a failure that has not ended the job") {
    JobVerdict other;
    other.fail(1, 3, failure_of(1, {}));
    CHECK_FALSE(other.can_restart());
  }
}

TEST_CASE("a signal ends a job that was to run until then with status 0, but hides no failure") {
  JobVerdict stopped;
  stopped.interrupt(SIGTERM, true);
  CHECK(stopped.outcome().exit_status == 0);
  CHECK(stopped.outcome().reason == "stopped by SIGTERM");
  stopped.fail(0, 143, failure_of(0, {}));
  CHECK(stopped.outcome().exit_status == 0);
  CHECK_FALSE(stopped.outcome().failure);
  JobVerdict failed;
  failed.fail(0, 3, failure_of(0, {}));
  failed.interrupt(SIGTERM, true);
  CHECK(failed.outcome().exit_status == 3);
  JobVerdict interrupted;
  interrupted.interrupt(SIGTERM, false);
  CHECK(interrupted.outcome().exit_status == 143);
}

}  // namespace
}  // namespace dt
