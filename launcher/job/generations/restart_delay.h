#pragma once

#include "base/clock.h"

#include <algorithm>
#include <cstdint>

namespace dt {

/// Returns the wait before the n-th restart. It doubles from 1 s to 30 s, and the first has none.
inline Duration restart_delay(uint32_t restart) {
  constexpr Duration longest = seconds(30);
  constexpr uint32_t doublings_max = 5;
  if (restart <= 1) return Duration::zero();
  return std::min<Duration>(longest, seconds(1) * (1 << std::min(restart - 2, doublings_max)));
}

}  // namespace dt
