#pragma once

#include "base/result.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace dt {

/// Threads that run one function N times at once. The first call runs on the caller's thread. The
/// destructor waits for the threads.
class ReplicaThreads {
 public:
  /// Fails with Errc::os when a thread cannot be started.
  static Result<std::unique_ptr<ReplicaThreads>> start(size_t count);
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;
  ~ReplicaThreads();

  /// Calls `body` with 0 to count - 1, and returns when all calls have returned. It throws nothing.
  void run(const std::function<void(size_t)>& body);

 private:
  ReplicaThreads() = default;
  void work(size_t number);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(size_t)>* body_ = nullptr;
  uint64_t round_ = 0;
  size_t running_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_ = {};
};

}  // namespace dt
