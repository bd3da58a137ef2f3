#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace dt {

/// A thread that begins when it is first needed, and sleeps while it is not. All functions but
/// join() require the lock of one mutex.
class BackgroundThread {
 public:
  /// Wakes the thread, or begins it with that body. If no more threads are possible, does nothing.
  void need(const std::function<void()>& body);
  void wake() { needed_.notify_one(); }
  /// Called by the body: waits for need() or wake().
  void wait(std::unique_lock<std::mutex>& lock) { needed_.wait(lock); }
  bool begun() const { return thread_.joinable(); }
  /// Waits for the end of the body, if it has begun.
  void join();

 private:
  std::condition_variable needed_;
  std::thread thread_;
};

}  // namespace dt
