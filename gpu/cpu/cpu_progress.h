#pragma once

#include "base/clock.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace dt {

/// A number of finished calls, which one thread counts and others await.
class CpuProgress {
 public:
  void advance() {
    {
      const std::lock_guard lock(mutex_);
      ++count_;
    }
    changed_.notify_all();
  }
  uint64_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  void wait(uint64_t count) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }
  /// Returns false when `count` was not reached by the deadline.
  bool wait(uint64_t count, Time deadline) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [&] { return count_ >= count; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  uint64_t count_ = 0;
};

}  // namespace dt
