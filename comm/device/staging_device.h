#pragma once

#include "base/clock.h"
#include "comm/device/buffer_ranges.h"
#include "comm/device/queued_results.h"
#include "gpu/device.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace dt {

/// How long a wait for the work of a device lasts. Only a device that hangs, or an endless kernel
/// of the caller, reaches it.
inline constexpr Duration staged_work_max = seconds(600);

/// The work of a caller's stream before a call. Without a stream there is none.
struct EarlierWork {
  void* stream = nullptr;  ///< as in Device::stream_at()
  std::shared_ptr<DeviceEvent> done = {};
};

/// A device whose memory operations read and write, with streams for these copies and pinned memory
/// between them. Nothing but copies runs on its streams, so that none waits for another rank.
/// Copies behind a stream of the caller wait on one that is theirs, so that they hold up no call on
/// another stream. Any thread may call it.
class StagingDevice : public std::enable_shared_from_this<StagingDevice> {
 public:
  static Result<std::shared_ptr<StagingDevice>> open(std::unique_ptr<Device> device);

  Device& device() const { return *device_; }
  /// Returns pinned memory of at least that size. Fails with Errc::out_of_memory. May wait for the
  /// device's work, and so for operations under way.
  Result<DeviceBuffer> take_pinned(size_t bytes);
  /// Keeps memory for later calls, which no copy uses any more. Frees none, since CUDA may wait for
  /// the device's work then. The next take_pinned() frees what is too much.
  void keep_pinned(DeviceBuffer buffer);
  /// Returns an object for one operation, which keeps this one.
  std::shared_ptr<QueuedResults> expect_results();
  /// Returns an event of the device, which comes back to it for later calls. It counts as reached
  /// until it is recorded.
  Result<std::shared_ptr<DeviceEvent>> take_event();
  /// Returns memory of the device for results that follow. Never waits for the device's work.
  Result<DeviceBuffer> allocate_result(size_t bytes);
  /// Queues copies out of memory of the device, and records the event behind them. They begin when
  /// the earlier work is done. After a failure no copy runs, unless a GPU has failed that tells no
  /// end.
  Result<> copy_inputs(std::vector<MemoryCopy> copies, const EarlierWork& earlier,
                       DeviceEvent& copied);
  /// The same into memory of the device.
  Result<> copy_results(std::vector<MemoryCopy> copies, DeviceEvent& copied);

 private:
  static constexpr size_t kept_count_max = 16;
  static constexpr size_t kept_bytes_max = size_t{256} << 20;
  static constexpr size_t kept_events_max = 256;

  /// An event on loan. It ends before its device.
  struct LentEvent {
    LentEvent(std::shared_ptr<StagingDevice> lender, std::unique_ptr<DeviceEvent> lent)
        : device(std::move(lender)), event(std::move(lent)) {}
    LentEvent(const LentEvent&) = delete;
    LentEvent& operator=(const LentEvent&) = delete;
    ~LentEvent() { device->keep_event(std::move(event)); }

    std::shared_ptr<StagingDevice> device;
    std::unique_ptr<DeviceEvent> event;
  };

  StagingDevice() = default;
  void keep_event(std::unique_ptr<DeviceEvent> event);
  Result<DeviceStream*> stream_behind(const EarlierWork& earlier);

  std::unique_ptr<Device> device_ = {};
  std::mutex mutex_;
  std::vector<DeviceBuffer> kept_ = {};
  std::vector<DeviceBuffer> evicted_ = {};
  size_t kept_bytes_ = 0;
  std::vector<std::unique_ptr<DeviceEvent>> kept_events_ = {};
  std::unique_ptr<DeviceStream> inputs_ = {};
  std::map<void*, std::unique_ptr<DeviceStream>> late_inputs_ = {};  ///< by the caller's stream
  std::unique_ptr<DeviceStream> results_ = {};
};

/// Fails with Errc::input when a range ends beyond its allocation, if the device knows the size of
/// that. Asks the device about ranges whose room is not known.
Result<> check_ranges(const std::vector<BufferRanges>& ranges, const Device& device);

/// True when the event is reached. Fails when the device has failed, and no copy runs any more.
Result<bool> is_reached(const DeviceEvent& event);

/// Queues copies on a stream. One kernel makes many small ones, such as those of a list. All places
/// are memory of the device, or pinned.
Result<> copy_all(DeviceStream& stream, std::vector<MemoryCopy> copies);

}  // namespace dt
