#pragma once

#include "gpu/device.h"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace dt {

/// A number in pinned memory that streams wait for. It grows with each use, so that no late wait
/// takes a later use for its own.
struct HoldNumber {
  uint32_t* at = nullptr;
  uint32_t value = 0;  ///< of this use
};

/// The numbers of one device. Any thread may call it.
class HoldNumbers {
 public:
  explicit HoldNumbers(Device& device) : device_(device) {}
  Device& device() const { return device_; }
  /// Allocates only when all numbers are in use. Fails with Errc::out_of_memory.
  Result<HoldNumber> take();
  /// Nothing sets the number to this value any more.
  void keep(HoldNumber number);

 private:
  static constexpr size_t per_page = 4096;

  Device& device_;
  std::mutex mutex_;
  std::vector<DeviceBuffer> pages_ = {};
  std::vector<HoldNumber> free_ = {};
};

/// Lets streams wait for the end of an operation on memory of a device. The device's own work sets
/// the number that they wait for, or the host does after a failure. So neither a thread nor a
/// kernel waits meanwhile. Any thread may call it.
class StreamHold : public std::enable_shared_from_this<StreamHold> {
 public:
  /// `owner` keeps the numbers.
  static Result<std::shared_ptr<StreamHold>> make(std::shared_ptr<void> owner,
                                                  HoldNumbers& numbers);
  StreamHold(std::shared_ptr<void> owner, HoldNumbers& numbers, HoldNumber number)
      : owner_(std::move(owner)), numbers_(numbers), number_(number) {}
  StreamHold(const StreamHold&) = delete;
  StreamHold& operator=(const StreamHold&) = delete;
  /// Requires that no work of release_behind() is still to come.
  ~StreamHold();

  /// Later work of the stream waits until the hold is released: a stream that the program has made,
  /// as in Device::stream_at(). Where the driver has no waits for numbers, a function of the host
  /// waits.
  Result<> hold(void* stream);
  /// Releases it behind all earlier work of the stream. Where it cannot, release() must. The last
  /// one of several calls does that; all have one stream.
  void release_behind(DeviceStream& stream, size_t of_calls = 1);
  /// Releases it at once. May be called again.
  void release();

 private:
  void wait();

  std::shared_ptr<void> owner_;
  HoldNumbers& numbers_;
  HoldNumber number_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t calls_ = 0;  ///< of release_behind()
  bool held_ = false;
  bool released_ = false;
};

}  // namespace dt
