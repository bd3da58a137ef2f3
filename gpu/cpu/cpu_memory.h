#pragma once

#include "gpu/cpu/cpu_allocation.h"
#include "gpu/device.h"

#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace dt {

/// All memory of the CPU devices of a process. Any thread may call it.
class CpuMemory {
 public:
  using Allocation = std::shared_ptr<CpuAllocation>;

  /// Each of `devices` devices has this many bytes; pinned memory has no limit.
  CpuMemory(int devices, size_t device_bytes)
      : device_bytes_(device_bytes), used_(static_cast<size_t>(devices), 0) {}

  Result<Allocation> allocate(const CpuAllocation::Terms& terms);
  /// Returns a sentence about an overrun, if there is one.
  std::optional<std::string> free(const Allocation& allocation);

  DeviceMemory of_device(int device) const;
  /// Returns the allocation at this address, also one that was freed some time ago. Returns null
  /// for other memory of the process.
  Allocation find(const std::byte* address) const;
  /// Returns a sentence about an overrun of memory that was allocated through this device.
  std::optional<std::string> find_overrun(int device) const;

 private:
  static constexpr size_t freed_bytes_max = size_t{16} << 20;
  static constexpr size_t freed_count_max = 64;

  mutable std::mutex mutex_;
  size_t device_bytes_;
  std::vector<size_t> used_;                          ///< bytes, by device
  std::map<const std::byte*, Allocation> live_ = {};  ///< by their first byte
  std::deque<Allocation> freed_ = {};  ///< the latest, whose addresses get no other use meanwhile
  size_t freed_bytes_ = 0;
};

}  // namespace dt
