#include "launcher/job/supervision/pause.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const Time now = Time() + seconds(1000);

TEST_CASE("the answer to a pause that nobody wanted has no effect") {
  Pause pause(2);
  pause.answered(1);
  CHECK_FALSE(pause.complete());
  CHECK_FALSE(pause.end(now));
  pause.begin(now);
  pause.answered(0);
  CHECK_FALSE(pause.complete());
}

TEST_CASE("the answer to a cancelled pause does not count for the next") {
  Pause pause(1);
  CHECK(pause.begin(now));
  CHECK(pause.end(now + seconds(3)) == seconds(3));
  CHECK(pause.begin(now));
  CHECK_FALSE(pause.begin(now));
  pause.answered(0);
  CHECK_FALSE(pause.complete());
  pause.answered(0);
  CHECK(pause.complete());
}

}  // namespace
}  // namespace dt
