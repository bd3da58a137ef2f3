#pragma once

#include "base/result.h"
#include "base/vector_queue.h"
#include "gpu/cpu/call_probe.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

namespace dt {

/// One queued call of a stream.
struct StreamCommand {
  DeviceCall call = DeviceCall::copy;
  std::function<Result<>()> run = {};     ///< not called when the device has failed
  std::function<void()> afterwards = {};  ///< called in every case; may be empty
};

/// The commands from the thread that calls a stream to the stream's own thread.
class CommandQueue {
 public:
  void push(StreamCommand command) {
    {
      const std::lock_guard lock(mutex_);
      commands_.push_back(std::move(command));
    }
    changed_.notify_one();
  }
  /// No more commands follow.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_one();
  }
  /// Waits for a command. Returns none when the queue is closed and empty.
  std::optional<StreamCommand> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !commands_.empty(); });
    if (commands_.empty()) return std::nullopt;
    StreamCommand command = std::move(commands_.front());
    commands_.pop_front();
    return command;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  VectorQueue<StreamCommand> commands_;
  bool closed_ = false;
};

}  // namespace dt
