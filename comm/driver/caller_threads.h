#pragma once

#include <atomic>

namespace dt {

/// Whether all calls come from one thread. Then no other call comes while that thread blocks.
class CallerThreads {
 public:
  /// Returns true when no other thread has made a call so far.
  bool note_caller() {
    static thread_local char own_address;
    const void* const self = &own_address;
    const void* first = first_.load(std::memory_order_relaxed);
    if (first == self) return !several();
    first = nullptr;
    if (first_.compare_exchange_strong(first, self, std::memory_order_relaxed)) return !several();
    if (first != self) several_.store(true, std::memory_order_relaxed);
    return !several();
  }

 private:
  bool several() const { return several_.load(std::memory_order_relaxed); }

  std::atomic<const void*> first_ = nullptr;
  std::atomic<bool> several_ = false;
};

}  // namespace dt
