#include "launcher/protocol/lease.h"

#include <algorithm>

namespace dt {

void Lease::restart(Time now) {
  last_heard_ = now;
  last_check_ = now;
}

bool Lease::over(Time now) {
  const Duration gap = now - last_check_;
  if (gap > dead_after_) {
    suspended_ = gap;
    woke_ = now;
    last_heard_ = now;
  } else if (const Duration counted = heartbeat_ * 3 / 2; gap > counted) {
    last_heard_ = std::min(now, last_heard_ + (gap - counted));
  }
  last_check_ = now;
  return now - last_heard_ > dead_after_;
}

std::optional<Duration> Lease::suspended(Time now) const {
  if (now - last_check_ > dead_after_) return now - last_check_;
  if (suspended_ && now - woke_ <= 2 * dead_after_) return suspended_;
  return std::nullopt;
}

}  // namespace dt
