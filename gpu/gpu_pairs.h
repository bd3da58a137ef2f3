#pragma once

#include "gpu/list.h"
#include "gpu/nvml.h"

#include <string>
#include <vector>

namespace dt {

/// A GPU with its handle.
struct GpuHandle {
  Nvml::Device device = nullptr;
  std::string uuid = {};
};

/// Returns how each two of the GPUs are connected. Empty when the driver cannot tell.
std::vector<GpuPair> list_gpu_pairs(const Nvml& nvml, const std::vector<GpuHandle>& gpus);

}  // namespace dt
