#pragma once

#include <string>
#include <vector>

namespace dt {

/// A GPU as a scheduler needs to know it.
struct GpuDevice {
  int index = 0;
  std::string uuid;
  std::string name;
  bool operator==(const GpuDevice&) const = default;
};

/// The GPUs that this process may use, in index order. A build without CUDA sees none.
std::vector<GpuDevice> list_gpus();

}  // namespace dt
