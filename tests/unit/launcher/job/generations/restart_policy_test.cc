#include "launcher/job/generations/restart_policy.h"

#include "launcher/job/generations/restart_delay.h"

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

namespace dt {
namespace {

Outcome failed_with(int status) {
  return {.exit_status = status, .failure = Failure{.task = {"worker", 0}, .rank = 0}};
}

TEST_CASE("RestartPolicy: a job starts again as often as the user allows") {
  RestartPolicy policy({.max = 2});
  for (uint32_t number = 1; number <= 2; ++number) {
    REQUIRE(policy.allows(failed_with(1)));
    const WorldRestart restart = policy.next(seconds(1));
    CHECK(restart.number == number);
    CHECK(restart.of == 2);
  }
  CHECK_FALSE(policy.allows(failed_with(1)));
  CHECK_FALSE(RestartPolicy({.max = 0}).allows(failed_with(1)));
}

TEST_CASE("RestartPolicy: a program that cannot be executed is tried once, unless it ran before") {
  RestartPolicy policy({.max = 9});
  for (const int status : {126, 127})
    CHECK_FALSE(policy.allows(failed_with(status)));
  CHECK(policy.allows(failed_with(125)));
  CHECK(policy.allows(failed_with(128 + 9)));
  policy.next(seconds(1));
  for (const int status : {126, 127})
    CHECK(policy.allows(failed_with(status)));
}

TEST_CASE("RestartPolicy: only after the statuses that the user names, if any") {
  const RestartPolicy policy({.max = 9, .on = {{42, 42}, {127, 255}}});
  for (const int status : {42, 128, 143, 255})
    CHECK(policy.allows(failed_with(status)));
  for (const int status : {1, 41, 43, 126, 127})
    CHECK_FALSE(policy.allows(failed_with(status)));
}

TEST_CASE("RestartPolicy: a lost host always counts, as often as restarts are left") {
  RestartPolicy policy({.max = 1, .on = {{42, 42}}});
  const Outcome lost = {
      .exit_status = 3, .reason = "agent on b lost: no heartbeat for 5s", .host_lost = true};
  CHECK(policy.allows(lost));
  // Its peers may fail first.
  Outcome failed = failed_with(1);
  CHECK_FALSE(policy.allows(failed));
  failed.host_lost = true;
  CHECK(policy.allows(failed));
  policy.next(seconds(1));
  CHECK_FALSE(policy.allows(lost));
}

TEST_CASE("RestartPolicy: the first restart is at once, later ones wait up to 30 s") {
  RestartPolicy policy({.max = 100});
  std::vector<Duration> delays;
  for (int i = 0; i < 8; ++i)
    delays.push_back(policy.next(seconds(1)).delay);
  const std::vector<Duration> wanted = {seconds(0), seconds(1),  seconds(2),  seconds(4),
                                        seconds(8), seconds(16), seconds(30), seconds(30)};
  CHECK(delays == wanted);
}

TEST_CASE("RestartPolicy: ten minutes of life reset the delay, but not the number") {
  RestartPolicy policy({.max = 100});
  for (int i = 0; i < 5; ++i)
    policy.next(seconds(1));
  CHECK(policy.next(std::chrono::minutes(10) - seconds(1)).delay == seconds(16));
  const WorldRestart after = policy.next(std::chrono::minutes(10));
  CHECK(after == WorldRestart{.number = 7, .of = 100, .delay = {}});
  CHECK(policy.next(seconds(1)).delay == seconds(1));
}

TEST_CASE("restart_delay: a number without bound is no overflow") {
  CHECK(restart_delay(1) == Duration::zero());
  CHECK(restart_delay(0) == Duration::zero());
  CHECK(restart_delay(4'000'000'000U) == seconds(30));
}

}  // namespace
}  // namespace dt
