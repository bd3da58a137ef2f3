#include "base/running_time_clock.h"

#include <algorithm>

namespace dt {

namespace {

/// Fine enough for time limits of a second, and no load.
constexpr Duration look_every = milliseconds(100);
/// A gap between two looks that a busy machine can make.
constexpr Duration gap_max = milliseconds(250);

}  // namespace

Time RunningTimeClock::now(Time real) {
  lived_ += std::clamp(real - real_, Duration::zero(), gap_max);
  real_ = std::max(real, real_);
  return lived_;
}

Time RunningTimeClock::wake_up_at(Time deadline) const {
  return deadline == Time::max() ? deadline
                                 : std::min(this->to_monotonic(deadline), real_ + look_every);
}

Time RunningTimeClock::to_monotonic(Time deadline) const {
  return deadline == Time::max() ? deadline : deadline + (real_ - lived_);
}

}  // namespace dt
