#include "base/running_time_clock.h"

#include <algorithm>

namespace dt {

namespace {

/// Precise enough for time limits of a second, and rare enough to cause no load.
constexpr Duration wake_up_every = milliseconds(100);
/// The longest gap between two calls that counts as running time: a busy machine can cause it.
constexpr Duration gap_max = milliseconds(250);

}  // namespace

Time RunningTimeClock::now(Time monotonic) {
  running_ += std::clamp(monotonic - monotonic_, Duration::zero(), gap_max);
  monotonic_ = std::max(monotonic, monotonic_);
  return running_;
}

Time RunningTimeClock::wake_up_at(Time deadline) const {
  return deadline == Time::max()
             ? deadline
             : std::min(this->to_monotonic(deadline), monotonic_ + wake_up_every);
}

Time RunningTimeClock::to_monotonic(Time deadline) const {
  return deadline == Time::max() ? deadline : deadline + (monotonic_ - running_);
}

}  // namespace dt
