#pragma once

#include "gpu/cpu/cpu_world.h"
#include "gpu/cuda/loaded_driver.h"
#include "gpu/device.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace dt {

/// A device of this process. Another library may have allocated its memory.
struct DevicePlace {
  std::shared_ptr<CpuWorld> cpu_world = {};  ///< null: it is a GPU
  int index = 0;
  bool operator==(const DevicePlace&) const = default;
};

/// Memory of a device of this process.
struct PlacedMemory {
  DevicePlace place = {};
  std::span<const std::byte> allocation = {};  ///< empty: its device does not know the range

  /// Returns the bytes from an address to the end of the allocation; none: it is not known.
  std::optional<size_t> room_at(const std::byte* address) const;
};

/// Knows whether an address may lie in memory of a device at all. The answer costs two branches.
class PossibleDevices {
 public:
  PossibleDevices();
  /// True when this process has opened CPU devices, and where a driver of GPUs is.
  bool any() const { return has_driver_ || cpu_devices_.load(std::memory_order_relaxed); }

 private:
  const std::atomic<bool>& cpu_devices_;
  bool has_driver_;
};

/// Finds the memory of a call's addresses. Asks once about the same address in a row, such as an
/// input that is also the output.
class MemoryFinder {
 public:
  explicit MemoryFinder(PointerQuestion driver = loaded_driver()) : driver_(driver) {}
  /// Returns the memory that has this address, until the next call. Null for memory of the host,
  /// also pinned.
  const PlacedMemory* find(const void* address);

 private:
  PointerQuestion driver_;  ///< null: this process has loaded none
  const void* address_ = nullptr;
  std::optional<PlacedMemory> found_ = {};
};

/// Returns the device whose memory has this address; none for memory of the host, also pinned.
std::optional<DevicePlace> find_device_place(const void* address);
/// "cpu:0", "cuda:0".
std::string name_of(const DevicePlace& place);
/// Opens that device. Fails with Errc::not_found and the reason when this build has no CUDA.
Result<std::unique_ptr<Device>> open_device_at(const DevicePlace& place);

}  // namespace dt
