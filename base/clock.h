#pragma once

#include <chrono>

namespace dt {

/// Monotonic time, the only clock for decisions: changes of the wall clock have no effect.
using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = std::chrono::nanoseconds;

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Returns the timeout of poll(2) until `deadline`: milliseconds, rounded up, from 0 to one hour.
inline int poll_ms(Time now, Time deadline) {
  if (deadline <= now) return 0;
  const auto left = std::chrono::ceil<milliseconds>(deadline - now).count();
  return left > 3'600'000 ? 3'600'000 : static_cast<int>(left);
}

}  // namespace dt
