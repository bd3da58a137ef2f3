#include "base/lived_clock.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const Time start = Time() + seconds(1000);

TEST_CASE("LivedClock is the monotonic one for who looks often") {
  LivedClock clock(start);
  for (int tenth = 0; tenth <= 100; ++tenth) {
    const Time real = start + tenth * milliseconds(100);
    CHECK(clock.now(real) == real);
  }
}

TEST_CASE("LivedClock leaves out the time of a stop") {
  LivedClock clock(start);
  const Time deadline = clock.now(start) + seconds(5);
  const Time resumed = start + seconds(60);
  const Time lived = clock.now(resumed);
  CHECK(lived < start + seconds(1));
  CHECK(clock.real(deadline) == resumed + (deadline - lived));
  CHECK(clock.now(resumed + milliseconds(100)) == lived + milliseconds(100));
}

TEST_CASE("LivedClock never goes back") {
  LivedClock clock(start);
  CHECK(clock.now(start + milliseconds(50)) == start + milliseconds(50));
  CHECK(clock.now(start) == start + milliseconds(50));
  CHECK(clock.now(start + milliseconds(60)) == start + milliseconds(60));
}

TEST_CASE("LivedClock: who waits for a deadline looks in between, who waits for none does not") {
  const LivedClock clock(start);
  CHECK(clock.look_again_at(start + milliseconds(10)) == start + milliseconds(10));
  CHECK(clock.look_again_at(start + seconds(10)) < start + seconds(1));
  CHECK(clock.look_again_at(Time::max()) == Time::max());
  CHECK(clock.real(Time::max()) == Time::max());
}

}  // namespace
}  // namespace dt
