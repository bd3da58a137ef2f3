#pragma once

#include "gpu/device.h"

namespace dt {

/// A flag in pinned memory. It is set before NCCL's kernels are aborted. Kernels of ours that are
/// queued behind those then copy no results.
class AbortFlag {
 public:
  AbortFlag() = default;
  static Result<AbortFlag> allocate(Device& device);

  /// Does nothing without memory.
  void set();
  /// For CopyBatch::skip. Null without memory.
  const uint32_t* at() const { return reinterpret_cast<const uint32_t*>(memory_.at()); }

 private:
  DeviceBuffer memory_ = {};
};

}  // namespace dt
