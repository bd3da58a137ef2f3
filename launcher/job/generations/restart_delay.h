#pragma once

#include "base/clock.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace dt {

/// A process that lived so long has made progress: its end is not one of a series.
inline constexpr Duration long_life = std::chrono::minutes(10);

/// Returns the wait before the n-th restart. It doubles from 1 s to 30 s, and the first has none.
inline Duration restart_delay(uint32_t restart) {
  constexpr Duration longest = seconds(30);
  constexpr uint32_t doublings_max = 5;
  if (restart <= 1) return Duration::zero();
  return std::min<Duration>(longest, seconds(1) * (1 << std::min(restart - 2, doublings_max)));
}

}  // namespace dt
