#pragma once

#include "base/clock.h"

namespace dt {

/// Counts the time in which this process runs, so that no deadline passes because of a stop. While
/// the process is stopped (Ctrl-Z, a debugger, a frozen container), the monotonic clock advances
/// and this clock does not.
///
/// The clock takes a long gap between two calls of now() for a stop. A thread that waits for a
/// deadline must therefore wake up at wake_up_at() and call now(). Without calls the clock only
/// falls behind.
class RunningTimeClock {
 public:
  explicit RunningTimeClock(Time monotonic = Clock::now())
      : monotonic_(monotonic), running_(monotonic) {}

  Time now(Time monotonic = Clock::now());
  /// Returns the monotonic time until which to sleep, for a deadline of this clock.
  Time wake_up_at(Time deadline) const;
  /// Converts a deadline of this clock to monotonic time, if no further stop comes.
  Time to_monotonic(Time deadline) const;

 private:
  Time monotonic_;  ///< at the last call of now()
  Time running_;
};

/// A deadline of a RunningTimeClock, for code that only waits.
class Deadline {
 public:
  /// `when` is a monotonic time, which stops of this process defer.
  explicit Deadline(Time when) : when_(when) {}

  bool passed() { return clock_.now() >= when_; }
  /// Returns the monotonic time at which to call passed() again.
  Time wake_up_at() const { return clock_.wake_up_at(when_); }
  Time to_monotonic() const { return clock_.to_monotonic(when_); }

 private:
  RunningTimeClock clock_;
  Time when_;
};

}  // namespace dt
