#include "launcher/job/supervision/task_lives.h"

#include "tests/unit/launcher/job/supervision/supervisor_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace dt {
namespace {

TaskLives two_workers(int restarts) {
  Plan plan = SupervisorFixture::plan_of(1);
  plan.roles = {{.name = "worker", .count = 2, .restarts = restarts}};
  return TaskLives(plan);
}

const Time now = Time() + seconds(1000);
constexpr ExitStatus failed = {.code = 1};

TEST_CASE("no wait for a restart is longer than 30 s") {
  TaskLives lives = two_workers(1000);
  Duration longest = {};
  Time at = now;
  for (int i = 0; i < 100; ++i) {
    lives.start(1, 300, at);
    longest = std::max(longest, lives.restart_later(1, failed, at).delay);
    at = lives.next_restart();
    CHECK(lives.take_due(at) == std::vector<size_t>{1});
  }
  CHECK(longest == seconds(30));
  CHECK(lives.attempt(1) == 101);
}

TEST_CASE("ten minutes of life reset the waits, but not the number of restarts") {
  TaskLives lives = two_workers(10);
  Time at = now;
  const auto wait_after = [&](Duration life) {
    lives.start(1, 300, at);
    at += life;
    const TaskLives::Restart restart = lives.restart_later(1, failed, at);
    at = lives.next_restart();
    lives.take_due(at);
    return restart.delay;
  };
  constexpr Duration short_life = std::chrono::minutes(10) - milliseconds(1);
  CHECK(wait_after(short_life) == seconds(0));
  CHECK(wait_after(short_life) == seconds(1));
  CHECK(wait_after(std::chrono::minutes(10)) == seconds(0));
  CHECK(wait_after({}) == seconds(1));
  CHECK(wait_after({}) == seconds(2));
  CHECK(lives.attempt(1) == 6);
}

TEST_CASE("only a task that always starts again has a restart after a good end") {
  for (const bool always : {false, true}) {
    Plan plan = SupervisorFixture::plan_of(1);
    plan.roles = {{.name = "worker", .count = 2, .restarts = 1, .restarts_always = always}};
    TaskLives lives(plan);
    lives.start(0, 300, now);
    CHECK(lives.has_restart(0));
    CHECK(lives.has_restart(0, true) == always);
  }
}

TEST_CASE("a task that waits has completed if its last attempt ended well, until it starts again") {
  TaskLives lives = two_workers(restarts_unlimited);
  lives.start(0, 300, now);
  CHECK_FALSE(lives.completed(0));
  lives.restart_later(0, {}, now);
  CHECK(lives.completed(0));
  lives.take_due(now);
  CHECK_FALSE(lives.completed(0));
  lives.start(0, 301, now);
  lives.restart_later(0, failed, now);
  CHECK_FALSE(lives.completed(0));
  CHECK(lives.failed(0));
  lives.take_due(now + seconds(1));
  CHECK_FALSE(lives.failed(0));
}

TEST_CASE("a task has as many restarts as its role gives") {
  TaskLives lives = two_workers(1);
  lives.start(0, 300, now);
  CHECK(lives.has_restart(0));
  CHECK(lives.restart_later(0, failed, now).of == 1);
  CHECK(lives.waiting() == std::vector<size_t>{0});
  CHECK(lives.cause(0) == "exit status 1");
  lives.take_due(now);
  CHECK_FALSE(lives.has_restart(0));
  CHECK(lives.has_restart(1));
}

TEST_CASE("only the first attempt of a task counts as a start") {
  TaskLives lives = two_workers(5);
  lives.start(0, 300, now);
  lives.restart_later(0, failed, now);
  lives.take_due(now);
  lives.start(0, 301, now);
  CHECK(lives.started() == 1);
  lives.end(1);
  CHECK(lives.started() == 2);
  CHECK(lives.running() == std::vector<size_t>{0});
  CHECK_FALSE(lives.all_ended());
  lives.end(0);
  CHECK(lives.all_ended());
  CHECK(lives.next_restart() == Time::max());
}

}  // namespace
}  // namespace dt
