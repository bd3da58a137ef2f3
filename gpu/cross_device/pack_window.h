#pragma once

#include "gpu/cross_device/device_group.h"
#include "gpu/cross_device/pack.h"
#include "gpu/cross_device/replicated_tensor.h"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace dt {

/// A part of a pack: consecutive elements on each device.
struct PackWindow {
  size_t count = 0;
  std::vector<const std::byte*> inputs = {};
  std::vector<std::byte*> outputs = {};
};

/// Tensors that a group reduces.
struct PackTensors {
  DeviceGroup& group;
  const CrossDeviceTerms& terms;
  std::span<const ReplicatedTensor> tensors;
};

/// Calls `reduce` for all windows of the pack, each of `elements_max` at most. Elements of several
/// tensors are copied to the packed slots before it, and back after it. Then these slots hold
/// `elements_max`.
Result<> reduce_in_windows(const PackTensors& all, const Pack& pack, size_t elements_max,
                           const std::function<Result<>(const PackWindow&)>& reduce);

}  // namespace dt
