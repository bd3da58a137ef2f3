#include "base/running_time_clock.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const Time start = Time() + seconds(1000);

TEST_CASE("RunningTimeClock equals the monotonic clock for frequent calls") {
  RunningTimeClock clock(start);
  for (int tenth = 0; tenth <= 100; ++tenth) {
    const Time real = start + tenth * milliseconds(100);
    CHECK(clock.now(real) == real);
  }
}

TEST_CASE("RunningTimeClock leaves out the time of a stop") {
  RunningTimeClock clock(start);
  const Time deadline = clock.now(start) + seconds(5);
  const Time resumed = start + seconds(60);
  const Time running = clock.now(resumed);
  CHECK(running < start + seconds(1));
  CHECK(clock.to_monotonic(deadline) == resumed + (deadline - running));
  CHECK(clock.now(resumed + milliseconds(100)) == running + milliseconds(100));
}

TEST_CASE("RunningTimeClock never goes back") {
  RunningTimeClock clock(start);
  CHECK(clock.now(start + milliseconds(50)) == start + milliseconds(50));
  CHECK(clock.now(start) == start + milliseconds(50));
  CHECK(clock.now(start + milliseconds(60)) == start + milliseconds(60));
}

TEST_CASE("RunningTimeClock wakes a wait for a deadline in between, and no wait without one") {
  const RunningTimeClock clock(start);
  CHECK(clock.wake_up_at(start + milliseconds(10)) == start + milliseconds(10));
  CHECK(clock.wake_up_at(start + seconds(10)) < start + seconds(1));
  CHECK(clock.wake_up_at(Time::max()) == Time::max());
  CHECK(clock.to_monotonic(Time::max()) == Time::max());
}

}  // namespace
}  // namespace dt
