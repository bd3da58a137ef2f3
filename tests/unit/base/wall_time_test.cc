#include "base/wall_time.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("asctime_text is what C and Python write") {
  std::tm time = {};
  time.tm_wday = 0;
  time.tm_mon = 5;
  time.tm_mday = 20;
  time.tm_hour = 23;
  time.tm_min = 1;
  time.tm_sec = 5;
  time.tm_year = 93;
  CHECK(asctime_text(time) == "Sun Jun 20 23:01:05 1993");
  time.tm_wday = 6;
  time.tm_mon = 11;
  time.tm_mday = 4;
  CHECK(asctime_text(time) == "Sat Dec  4 23:01:05 1993");
}

TEST_CASE("utc_text is ISO 8601 with milliseconds") {
  const WallClock::time_point moment{std::chrono::milliseconds(740618465123)};
  CHECK(utc_text(moment) == "1993-06-20T23:21:05.123Z");
  CHECK(utc_text(WallClock::time_point()) == "1970-01-01T00:00:00.000Z");
}

}  // namespace
}  // namespace dt
