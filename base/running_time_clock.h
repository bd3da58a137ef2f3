#pragma once

#include "base/clock.h"

namespace dt {

/// Time in which this process could act. While it is stopped (Ctrl-Z, a debugger, a frozen
/// container) the monotonic clock runs on and this one does not, so that nothing expires which
/// nobody could have done.
///
/// It goes by gaps between looks, so whoever waits for a deadline has to look again at
/// look_again_at(). While nobody waits nobody need look: it then only falls behind.
class RunningTimeClock {
 public:
  explicit RunningTimeClock(Time real = Clock::now()) : real_(real), lived_(real) {}

  Time now(Time real = Clock::now());
  /// Until when to sleep, on the monotonic clock, for a deadline of this clock.
  Time wake_up_at(Time deadline) const;
  /// The moment on the monotonic clock at which this one's deadline comes, as far as is known now.
  Time to_monotonic(Time deadline) const;

 private:
  Time real_;  ///< at the last look
  Time lived_;
};

/// A deadline in lived time, for code that only waits.
class Deadline {
 public:
  /// A moment on the monotonic clock, if there is no stop until then.
  explicit Deadline(Time when) : when_(when) {}

  bool passed() { return clock_.now() >= when_; }
  /// When to look again.
  Time wake_up_at() const { return clock_.wake_up_at(when_); }
  Time to_monotonic() const { return clock_.to_monotonic(when_); }

 private:
  RunningTimeClock clock_;
  Time when_;
};

}  // namespace dt
