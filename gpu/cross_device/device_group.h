#pragma once

#include "gpu/device.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace dt {

/// Two streams of a group, by index.
struct StreamOrder {
  size_t before = 0;
  size_t after = 0;
};

/// Memory that one device of a group reads, and the device that owns it.
struct PeerRange {
  size_t reader = 0;
  size_t owner = 0;
  const std::byte* at = nullptr;
  size_t bytes = 0;
  KernelAccess access = KernelAccess::peers;  ///< of that memory
};

/// N streams of this process, mostly one a device, which share their work. The group keeps the
/// order between them, and scratch memory in slots of one size. The destructor waits for the work,
/// at most for `last_wait`. One thread at a time.
class DeviceGroup {
 public:
  static constexpr size_t default_scratch_bytes = size_t{32} << 20;
  static constexpr Duration last_wait = seconds(30);

  /// The streams must outlive the group. Each device gets `scratch_bytes` at most. Where one has
  /// too little memory, all get half as much, and so on. This ends when 256 bytes a slot do not fit
  /// either.
  static Result<std::unique_ptr<DeviceGroup>> make(std::vector<DeviceStream*> streams,
                                                   size_t scratch_bytes = default_scratch_bytes);

  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;
  ~DeviceGroup();

  size_t size() const { return streams_.size(); }
  DeviceStream& stream(size_t i) const { return *streams_[i]; }
  Device& device(size_t i) const { return streams_[i]->device(); }

  /// A sentence about the memory that was not there for larger slots. Empty: all was.
  const std::string& shortage() const { return shortage_; }
  /// A multiple of 256.
  size_t slot_bytes() const { return slot_bytes_; }
  /// A device's slot for the array of another device.
  std::byte* copy_slot(size_t device, size_t owner) const { return slot(device, owner); }
  std::byte* result_slot(size_t device) const { return slot(device, size()); }
  std::byte* packed_slot(size_t device) const { return slot(device, size() + 1); }

  /// Later work on `after` follows the work so far on `before`.
  Result<> order(const StreamOrder& order);
  /// Later work of each stream follows the work so far on all streams.
  Result<> order_all();
  /// Returns where kernels of the reader find the range: there, or in `slot`, to which the reader's
  /// stream copies it. Requires an order() from owner to reader.
  Result<const std::byte*> readable(const PeerRange& range, std::byte* slot);
  /// Waits for all work. Fails with the first error of a stream; then no result is valid.
  Result<> synchronize(Time deadline);
  /// Called before memory is freed that queued work may use: waits for it, with or without errors.
  void drain();

 private:
  static constexpr size_t extra_slots = 2;

  explicit DeviceGroup(std::vector<DeviceStream*> streams) : streams_(std::move(streams)) {}
  Result<> make_events();
  bool can_read(const PeerRange& range) const;
  Result<> allocate(size_t slot_bytes);
  std::byte* slot(size_t device, size_t number) const {
    return scratch_[device].at() + number * slot_bytes_;
  }

  std::vector<DeviceStream*> streams_;
  std::vector<std::unique_ptr<DeviceEvent>> events_ = {};  ///< by stream
  std::vector<DeviceBuffer> scratch_ = {};                 ///< by stream
  size_t slot_bytes_ = 0;
  std::string shortage_ = {};
};

}  // namespace dt
