#pragma once

#include <condition_variable>
#include <mutex>

namespace dt {

/// Holds threads until it is opened. A gate must exist until they have passed, so it comes before
/// the streams.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

}  // namespace dt
