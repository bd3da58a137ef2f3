#pragma once

#include <chrono>

namespace dt {

/// Monotonic time, the only clock that decisions use: stepping the wall clock changes nothing.
using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = std::chrono::nanoseconds;

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Milliseconds until `deadline`, rounded up, never negative: what poll(2) wants.
inline int poll_ms(Time now, Time deadline) {
  if (deadline <= now) return 0;
  const auto left = std::chrono::ceil<milliseconds>(deadline - now).count();
  return left > 3'600'000 ? 3'600'000 : static_cast<int>(left);
}

}  // namespace dt
