#pragma once

#include "base/clock.h"
#include "gpu/device.h"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace dt {

/// The results of an operation on memory of a device, behind which streams of callers wait. No
/// stream is held before they are queued: CUDA waits for all streams when it loads a kernel or
/// frees memory. It lets no other thread of the process queue work meanwhile, and so no results.
/// Any thread may call it.
class QueuedResults {
 public:
  explicit QueuedResults(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  QueuedResults(const QueuedResults&) = delete;
  QueuedResults& operator=(const QueuedResults&) = delete;

  /// The results are queued on a stream, and the event is recorded behind them. With several calls,
  /// the last one has the event; all have one stream.
  void queue(std::shared_ptr<DeviceEvent> behind, size_t of_calls = 1);
  /// The operation has failed, or has ended. May be called again.
  void release();
  /// Waits until the results are queued. Later work of the stream then begins behind them: one that
  /// the program has made, as in Device::stream_at(). Returns false when they will not be queued.
  /// Fails with Errc::timeout at the deadline.
  Result<bool> let_wait(void* stream, Time deadline);

 private:
  std::shared_ptr<Device> device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<DeviceEvent> behind_ = {};  ///< null: they are not queued
  size_t calls_ = 0;                          ///< of queue()
  bool released_ = false;
};

}  // namespace dt
