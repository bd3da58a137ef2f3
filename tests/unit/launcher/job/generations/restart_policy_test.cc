#include "launcher/job/generations/restart_policy.h"

#include "launcher/job/generations/restart_delay.h"

#include <doctest/doctest.h>

#include <chrono>
#include <utility>
#include <vector>

namespace dt {
namespace {

Outcome failed_with(int status) {
  return {.exit_status = status, .failure = Failure{.task = {"worker", 0}, .rank = 0}};
}

/// The life of a generation that is no part of a series of short ones.
constexpr Duration long_enough = seconds(60);

bool allows_after(const RestartPolicy& policy, const Outcome& failed) {
  return policy.allows(failed, long_enough);
}

WorldRestart next_after(RestartPolicy& policy, Duration lived) {
  return policy.next(failed_with(1), lived);
}

TEST_CASE("RestartPolicy: a job starts again as often as the user allows") {
  RestartPolicy policy({.max = 2});
  for (uint32_t number = 1; number <= 2; ++number) {
    REQUIRE(allows_after(policy, failed_with(1)));
    const WorldRestart restart = next_after(policy, seconds(1));
    CHECK(restart.number == number);
    CHECK(restart.of == 2);
  }
  CHECK_FALSE(allows_after(policy, failed_with(1)));
  CHECK_FALSE(allows_after(RestartPolicy({.max = 0}), failed_with(1)));
}

TEST_CASE("RestartPolicy: a program that cannot be executed is tried once, unless it ran before") {
  RestartPolicy policy({.max = 9});
  for (const int status : {126, 127})
    CHECK_FALSE(allows_after(policy, failed_with(status)));
  CHECK(allows_after(policy, failed_with(125)));
  CHECK(allows_after(policy, failed_with(128 + 9)));
  next_after(policy, seconds(1));
  for (const int status : {126, 127})
    CHECK(allows_after(policy, failed_with(status)));
}

TEST_CASE("RestartPolicy: only after the statuses that the user names, if any") {
  const RestartPolicy policy({.max = 9, .on = {{42, 42}, {127, 255}}});
  for (const int status : {42, 128, 143, 255})
    CHECK(allows_after(policy, failed_with(status)));
  for (const int status : {1, 41, 43, 126, 127})
    CHECK_FALSE(allows_after(policy, failed_with(status)));
}

TEST_CASE("RestartPolicy: a lost host always counts, as often as restarts are left") {
  RestartPolicy policy({.max = 1, .on = {{42, 42}}});
  const Outcome lost = {
      .exit_status = 3, .reason = "agent on b lost: no heartbeat for 5s", .host_lost = true};
  CHECK(allows_after(policy, lost));
  // Its peers may fail first.
  Outcome failed = failed_with(1);
  CHECK_FALSE(allows_after(policy, failed));
  failed.host_lost = true;
  CHECK(allows_after(policy, failed));
  next_after(policy, seconds(1));
  CHECK_FALSE(allows_after(policy, lost));
}

TEST_CASE("RestartPolicy: the first restart is at once, later ones wait up to 30 s") {
  RestartPolicy policy({.max = 100});
  std::vector<Duration> delays;
  for (int i = 0; i < 8; ++i)
    delays.push_back(next_after(policy, seconds(1)).delay);
  const std::vector<Duration> wanted = {seconds(0), seconds(1),  seconds(2),  seconds(4),
                                        seconds(8), seconds(16), seconds(30), seconds(30)};
  CHECK(delays == wanted);
}

TEST_CASE("RestartPolicy: ten minutes of life reset the delay, but not the number") {
  RestartPolicy policy({.max = 100});
  for (int i = 0; i < 5; ++i)
    next_after(policy, seconds(1));
  CHECK(next_after(policy, std::chrono::minutes(10) - seconds(1)).delay == seconds(16));
  const WorldRestart after = next_after(policy, std::chrono::minutes(10));
  CHECK(after == WorldRestart{.number = 7, .of = 100, .delay = {}});
  CHECK(next_after(policy, seconds(1)).delay == seconds(1));
}

/// The number of restarts, and the status with which the job ended; 0: it did not.
struct SeriesEnd {
  int restarts = 0;
  int status = 0;
  bool operator==(const SeriesEnd&) const = default;
};
/// Lets generations fail one after the other, until one is the last.
SeriesEnd run_series(uint32_t most, const std::vector<std::pair<Outcome, Duration>>& generations) {
  RestartPolicy policy({.max = most});
  SeriesEnd end;
  for (const auto& [failed, lived] : generations) {
    if (!policy.allows(failed, lived)) {
      const Outcome* const first = policy.first_of_series(failed, lived);
      end.status = (first == nullptr ? failed : *first).exit_status;
      break;
    }
    policy.next(failed, lived);
    ++end.restarts;
  }
  return end;
}

TEST_CASE("RestartPolicy: without a limit, three short lives in a row end as the first of them") {
  const Duration soon = seconds(60) - milliseconds(1);
  const Outcome lost = {.exit_status = 3, .reason = "agent on b lost", .host_lost = true};
  struct Row {
    const char* name;
    uint32_t most;
    std::vector<std::pair<Outcome, Duration>> generations;
    SeriesEnd end;
  };
  const std::vector<std::pair<Outcome, Duration>> three = {
      {failed_with(7), soon}, {failed_with(8), soon}, {failed_with(9), soon}};
  const Row rows[] = {
      {"three", unlimited_restarts, three, {2, 7}},
      {"a limit", 2, three, {2, 9}},
      {"a larger limit", 5, three, {3, 0}},
      {"one lives long enough",
       unlimited_restarts,
       {{failed_with(6), soon},
        {failed_with(5), long_enough},
        {failed_with(7), soon},
        {failed_with(8), soon},
        {failed_with(9), soon}},
       {4, 7}},
      {"the third lives long enough",
       unlimited_restarts,
       {{failed_with(7), soon}, {failed_with(8), soon}, {failed_with(9), long_enough}},
       {3, 0}},
      {"lost hosts are failures",
       unlimited_restarts,
       {{lost, soon}, {failed_with(8), soon}, {failed_with(9), soon}},
       {2, 3}},
      {"a wrong path", unlimited_restarts, {{failed_with(127), seconds(0)}}, {0, 127}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const SeriesEnd end = run_series(row.most, row.generations);
    CHECK(end.restarts == row.end.restarts);
    CHECK(end.status == row.end.status);
  }
}

TEST_CASE("RestartPolicy: a series that ends otherwise keeps its last outcome") {
  RestartPolicy policy({.max = unlimited_restarts, .on = {{7, 7}}});
  policy.next(failed_with(7), seconds(1));
  policy.next(failed_with(7), seconds(1));
  REQUIRE(policy.first_of_series(failed_with(7), seconds(1)) != nullptr);
  // A status that --restart-on does not have, and a signal after the failure.
  CHECK(policy.first_of_series(failed_with(8), seconds(1)) == nullptr);
  CHECK(policy.first_of_series(interrupted_outcome(2), seconds(1)) == nullptr);
  CHECK(policy.first_of_series(failed_with(7), long_enough) == nullptr);
}

// The cases of Horovod's test_elastic_driver.py and of torch's local_elastic_agent_test.py by their
// names, as far as they are about restarts.
TEST_CASE("RestartPolicy: the cases of Horovod and torchelastic") {
  // All workers fail: horovodrun stops; here the ranks start from their checkpoints.
  RestartPolicy all_workers_fail({.max = unlimited_restarts});
  CHECK(allows_after(all_workers_fail, failed_with(1)));
  // Killed agents return, and the job continues.
  RestartPolicy double_agent_fault_tolerance({.max = 3});
  CHECK(allows_after(double_agent_fault_tolerance, failed_with(128 + 9)));
  // Restarts are used up: the job fails with the last failure.
  const std::vector<std::pair<Outcome, Duration>> bipolar(3, {failed_with(1), seconds(0)});
  CHECK(run_series(2, bipolar) == SeriesEnd{.restarts = 2, .status = 1});
  // --max-restarts 0: the first failure is that of the job.
  CHECK(run_series(0, {{failed_with(1), seconds(0)}}) == SeriesEnd{.restarts = 0, .status = 1});
  // binary_exit: the status of the program is that of the job.
  CHECK(run_series(0, {{failed_with(138), seconds(0)}}) == SeriesEnd{.restarts = 0, .status = 138});
}

TEST_CASE("restart_delay: a number without bound is no overflow") {
  CHECK(restart_delay(1) == Duration::zero());
  CHECK(restart_delay(0) == Duration::zero());
  CHECK(restart_delay(4'000'000'000U) == seconds(30));
}

}  // namespace
}  // namespace dt
