#include "launcher/check/units.h"

#include "base/format.h"

#include <array>
#include <chrono>

namespace dt {

namespace {

/// Three significant digits from 0.1 up; three decimals below.
std::string number_text(double value) {
  return value < 0.0995  ? format("{:.3f}", value)
         : value < 9.995 ? format("{:.2f}", value)
         : value < 99.95 ? format("{:.1f}", value)
                         : format("{:.0f}", value);
}

}  // namespace

std::string size_text(int64_t bytes) {
  constexpr std::array units = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit)
    value /= 1024;
  return unit == 0 || value >= 99.95 ? format("{:.0f} {}", value, units.at(unit))
                                     : format("{:.1f} {}", value, units.at(unit));
}

std::string time_text(Duration time) {
  const double ms = std::chrono::duration<double, std::milli>(time).count();
  return ms < 999.5 ? number_text(ms) + " ms" : number_text(ms / 1000) + " s";
}

std::string rate_text(double bytes_per_s) {
  constexpr double giga = 1e9;
  constexpr double mega = 1e6;
  return bytes_per_s < giga ? number_text(bytes_per_s / mega) + " MB/s"
                            : number_text(bytes_per_s / giga) + " GB/s";
}

}  // namespace dt
