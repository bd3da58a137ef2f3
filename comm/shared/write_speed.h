#pragma once

#include "base/clock.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dt {

/// Finds out whether this member writes its slots several times slower than memory. Where cores
/// share no cache, the core that has read a line last must give it back before each write.
/// Writes past the caches need no line. So slots should be written that way then.
///
///     fast ──4 slow samples in a row──▶ slow ──so many samples──▶ fast
///
/// Samples of the slow state show nothing, because the writes do not use the caches then. So it
/// ends after some time. Its next period is twice as long, if the next samples are slow again.
class WriteSpeed {
 public:
  /// Called once before each write. True for the few that should be measured.
  bool due() { return ++writes_ % writes_per_sample == 0; }
  void add(size_t bytes, Duration took);
  bool slow() const { return slow_; }

 private:
  static constexpr uint64_t writes_per_sample = 8;
  static constexpr int slow_samples_min = 4;
  /// This many fast samples show that the ranks run on other cores now.
  static constexpr int fast_samples_min = 64;
  /// Fixed costs dominate below.
  static constexpr size_t bytes_min = 2048;
  /// Cores of one cache write 8 GB/s and more, and others 2 GB/s.
  static constexpr double slow_bytes_per_ns = 4;
  static constexpr uint64_t first_period = 256;
  static constexpr uint64_t last_period = first_period << 8;

  uint64_t writes_ = 0;
  int slow_in_a_row_ = 0;
  int fast_in_a_row_ = 0;
  bool slow_ = false;
  uint64_t period_ = first_period;  ///< of the next slow state, in samples
  uint64_t left_ = 0;               ///< of the slow state
};

inline void WriteSpeed::add(size_t bytes, Duration took) {
  if (bytes < bytes_min) return;
  if (slow_) {
    slow_ = --left_ > 0;
    return;
  }
  const bool slow =
      static_cast<double>(bytes) < slow_bytes_per_ns * static_cast<double>(took.count());
  if (!slow) {
    slow_in_a_row_ = 0;
    if (++fast_in_a_row_ == fast_samples_min) period_ = first_period;
  } else if (++slow_in_a_row_ == slow_samples_min) {
    slow_in_a_row_ = 0;
    fast_in_a_row_ = 0;
    slow_ = true;
    left_ = period_;
    period_ = std::min(2 * period_, last_period);
  }
}

}  // namespace dt
