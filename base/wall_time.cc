#include "base/wall_time.h"

#include "base/format.h"

#include <array>
#include <string_view>

namespace dt {

std::string asctime_text(const std::tm& time) {
  constexpr std::array<std::string_view, 7> days = {"Sun", "Mon", "Tue", "Wed",
                                                    "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return format("{} {} {:2} {:02}:{:02}:{:02} {}", days.at(static_cast<size_t>(time.tm_wday)),
                months.at(static_cast<size_t>(time.tm_mon)), time.tm_mday, time.tm_hour,
                time.tm_min, time.tm_sec, 1900 + time.tm_year);
}

std::string local_time_text(WallClock::time_point moment) {
  const std::time_t time = WallClock::to_time_t(moment);
  std::tm fields = {};
  localtime_r(&time, &fields);
  return asctime_text(fields);
}

std::string utc_text(WallClock::time_point moment) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(moment);
  const auto rest = std::chrono::floor<std::chrono::milliseconds>(moment - whole);
  const std::time_t time = WallClock::to_time_t(whole);
  std::tm fields = {};
  gmtime_r(&time, &fields);
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", 1900 + fields.tm_year,
                1 + fields.tm_mon, fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec,
                rest.count());
}

}  // namespace dt
