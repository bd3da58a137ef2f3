#include "base/running_time_clock.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const Time start = Time() + seconds(1000);

TEST_CASE("LivedClock is the monotonic one for who looks often") {
  RunningTimeClock clock(start);
  for (int tenth = 0; tenth <= 100; ++tenth) {
    const Time real = start + tenth * milliseconds(100);
    CHECK(clock.now(real) == real);
  }
}

TEST_CASE("LivedClock leaves out the time of a stop") {
  RunningTimeClock clock(start);
  const Time deadline = clock.now(start) + seconds(5);
  const Time resumed = start + seconds(60);
  const Time lived = clock.now(resumed);
  CHECK(lived < start + seconds(1));
  CHECK(clock.to_monotonic(deadline) == resumed + (deadline - lived));
  CHECK(clock.now(resumed + milliseconds(100)) == lived + milliseconds(100));
}

TEST_CASE("LivedClock never goes back") {
  RunningTimeClock clock(start);
  CHECK(clock.now(start + milliseconds(50)) == start + milliseconds(50));
  CHECK(clock.now(start) == start + milliseconds(50));
  CHECK(clock.now(start + milliseconds(60)) == start + milliseconds(60));
}

TEST_CASE("LivedClock: who waits for a deadline looks in between, who waits for none does not") {
  const RunningTimeClock clock(start);
  CHECK(clock.wake_up_at(start + milliseconds(10)) == start + milliseconds(10));
  CHECK(clock.wake_up_at(start + seconds(10)) < start + seconds(1));
  CHECK(clock.wake_up_at(Time::max()) == Time::max());
  CHECK(clock.to_monotonic(Time::max()) == Time::max());
}

}  // namespace
}  // namespace dt
