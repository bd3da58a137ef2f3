#pragma once

#include "base/clock.h"

#include <map>

namespace dt {

/// Knows which signals came within the last 5 s. A scheduler signals the hosts of a job one after
/// the other, and launcher and agents report to each other meanwhile: these belong together.
class RecentSignals {
 public:
  static constexpr Duration recent = seconds(5);

  void note(int number, Time now) { last_[number] = now; }
  bool has(int number, Time now) const { return now < until(number); }
  /// Returns when the signal has not come within the last 5 s any more.
  Time until(int number) const {
    const auto at = last_.find(number);
    return at == last_.end() ? Time() : at->second + recent;
  }

 private:
  std::map<int, Time> last_;  ///< when each signal came
};

}  // namespace dt
