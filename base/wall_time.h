#pragma once

#include <chrono>
#include <ctime>
#include <string>

namespace dt {

/// The calendar time: for people and reports, never for decisions.
using WallClock = std::chrono::system_clock;

/// Returns "Sun Jun 20 23:21:05 1993", in English in every locale.
std::string asctime_text(const std::tm& time);
/// The same for a time in this machine's time zone.
std::string local_time_text(WallClock::time_point moment);
/// Returns "1993-06-20T23:21:05.123Z".
std::string utc_text(WallClock::time_point moment);

}  // namespace dt
