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

TEST_CASE("no wait for a restart is longer than 30 s") {
  TaskLives lives = two_workers(1000);
  Duration longest = {};
  Time at = now;
  for (int i = 0; i < 100; ++i) {
    lives.start(1, 300);
    longest = std::max(longest, lives.restart_later(1, "exit status 1", at).delay);
    at = lives.next_restart();
    CHECK(lives.take_due(at) == std::vector<size_t>{1});
  }
  CHECK(longest == seconds(30));
  CHECK(lives.attempt(1) == 101);
}

TEST_CASE("a task has as many restarts as its role gives") {
  TaskLives lives = two_workers(1);
  lives.start(0, 300);
  CHECK(lives.has_restart(0));
  CHECK(lives.restart_later(0, "exit status 1", now).of == 1);
  CHECK(lives.waiting() == std::vector<size_t>{0});
  CHECK(lives.cause(0) == "exit status 1");
  lives.take_due(now);
  CHECK_FALSE(lives.has_restart(0));
  CHECK(lives.has_restart(1));
}

TEST_CASE("only the first attempt of a task counts as a start") {
  TaskLives lives = two_workers(5);
  lives.start(0, 300);
  lives.restart_later(0, "exit status 1", now);
  lives.take_due(now);
  lives.start(0, 301);
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
