#pragma once

#include "base/vector_queue.h"
#include "comm/engine/engine.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace dt {

/// The operations that threads have submitted and the engine has not received yet. A submitter
/// waits neither for the engine nor for a step: some other thread may copy megabytes in one.
///
///   submitter ─ put() ─ while orphaned() ▶ try to lock the engine ─ locked ▶ stepper
///   stepper   ─ begin_steps() ─ take() all, step … ─ end_steps() ▶ unlocks the engine
///
/// So each operation is taken by the thread that steps, or by its submitter.
class Inbox {
 public:
  using Work = std::shared_ptr<Operation>;

  void put(Work work);
  /// Returns the operation that was put first, or null.
  Work take();
  /// May miss an operation that another thread puts at this moment.
  bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }
  /// True when operations are here and no thread steps.
  bool orphaned();

  // Only for the thread that has locked the engine:
  bool stepping() const { return stepping_.load(std::memory_order_relaxed); }
  void begin_steps() { stepping_.store(true, std::memory_order_relaxed); }
  /// Fails, and changes nothing, when operations are here.
  bool end_steps();

 private:
  std::mutex mutex_;
  VectorQueue<Work> works_;
  std::atomic<size_t> size_ = 0;        ///< of works_
  std::atomic<bool> stepping_ = false;  ///< some thread takes all works before it ends
};

}  // namespace dt
