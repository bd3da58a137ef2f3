#pragma once

#include "base/result.h"
#include "gpu/device.h"

#include <cstddef>
#include <mutex>
#include <vector>

namespace dt {

/// Memory of a device for the plans of tasks, which later tasks use again. For several threads.
class NcclMemory {
 public:
  /// Tasks up to `shared_bytes` need none of their own. Requires that `device` outlives this
  /// object.
  NcclMemory(Device& device, size_t shared_bytes) : device_(device), shared_bytes_(shared_bytes) {}

  /// Returns memory for a task, or an empty one where it needs none of its own. May wait for the
  /// device's work, and so for operations under way. Fails with Errc::out_of_memory.
  Result<DeviceBuffer> take(size_t bytes);
  /// Keeps it for later calls. Frees none before clear(), since CUDA may wait for the device's work
  /// then.
  void keep(DeviceBuffer buffer);
  void clear();

 private:
  Device& device_;
  const size_t shared_bytes_;
  std::mutex mutex_;
  std::vector<DeviceBuffer> unused_;
};

}  // namespace dt
