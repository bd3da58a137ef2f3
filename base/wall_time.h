#pragma once

#include <chrono>
#include <ctime>
#include <string>

namespace dt {

/// What a clock on the wall shows: for people and reports, never for decisions.
using WallClock = std::chrono::system_clock;

/// "Sun Jun 20 23:21:05 1993", in English whatever the locale is.
std::string asctime_text(const std::tm& time);
/// The same of a moment, in this machine's time zone.
std::string local_time_text(WallClock::time_point moment);
/// "1993-06-20T23:21:05.123Z".
std::string utc_text(WallClock::time_point moment);

}  // namespace dt
