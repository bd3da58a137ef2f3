#pragma once

#include "gpu/list.h"

#include <optional>

namespace dt {

/// The variables by which a process was told which GPUs are its own; none: not set.
struct VisibleVariables {
  std::optional<std::string> cuda = {};    ///< CUDA_VISIBLE_DEVICES
  std::optional<std::string> nvidia = {};  ///< NVIDIA_VISIBLE_DEVICES, of a container's runtime
  bool operator==(const VisibleVariables&) const = default;
};

/// Those of `all` that a CUDA program with these variables would see, in its order and under the
/// names that CUDA_VISIBLE_DEVICES has for them.
///
/// CUDA reads its list as indices or (beginnings of) UUIDs, and stops at the first entry that names
/// no GPU. Of NVIDIA_VISIBLE_DEVICES only "", none, void and lists of UUIDs are read: its indices
/// are those outside the container, where the runtime has already left out the others.
std::vector<Gpu> visible_gpus(const std::vector<Gpu>& all, const VisibleVariables& variables);

}  // namespace dt
