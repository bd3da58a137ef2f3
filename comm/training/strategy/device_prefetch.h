#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/training/strategy/replica_devices.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace dt {

/// Fills memory of a replica's device ahead of the steps that use it. Has a thread with a stream of
/// its own. The destructor waits for the function that fills.
///
///   free ── fill ▶ filled ── next() ▶ in use ── next() ▶ free
class DevicePrefetch {
 public:
  struct Options {
    size_t replica = 0;
    size_t bytes = 0;  ///< of a batch, at most
    size_t depth = 2;  ///< batches that are filled ahead
  };
  /// Writes a batch, and returns its bytes; 0: the data has ended.
  using Fill = std::function<Result<size_t>(std::byte* into)>;
  /// Fails with Errc::input for no bytes or no depth. `devices` must outlive this.
  static Result<std::unique_ptr<DevicePrefetch>> start(const ReplicaDevices& devices,
                                                       const Options& options, Fill fill);
  DevicePrefetch(const DevicePrefetch&) = delete;
  DevicePrefetch& operator=(const DevicePrefetch&) = delete;
  ~DevicePrefetch();

  /// Returns the next batch in memory of the device, valid until the next call; empty: the data has
  /// ended. Fails with the error of the function that fills. One thread at a time.
  Result<ByteSpan> next();

 private:
  struct Batch {
    size_t slot = 0;
    size_t bytes = 0;
  };

  DevicePrefetch(const Options& options, Fill fill) : options_(options), fill_(std::move(fill)) {}
  Result<> allocate(const ReplicaDevices& devices);
  void work();
  /// Fills a slot and returns its bytes.
  Result<size_t> fill_slot(size_t slot);

  Options options_;
  Fill fill_;
  std::unique_ptr<DeviceStream> stream_ = {};
  DeviceBuffer staging_ = {};  ///< of the host; none: the host can write to the device
  std::vector<DeviceBuffer> slots_ = {};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<size_t> free_ = {};
  std::deque<Batch> filled_ = {};
  std::optional<size_t> in_use_ = {};
  std::optional<Error> failure_ = {};
  bool ended_ = false;   ///< the data has
  bool ending_ = false;  ///< this object does
  std::thread thread_ = {};
};

}  // namespace dt
