#pragma once

#include "gpu/list.h"

#include <optional>

namespace dt {

/// The variables that select the GPUs of a process; none: not set.
struct VisibleVariables {
  std::optional<std::string> cuda = {};    ///< CUDA_VISIBLE_DEVICES
  std::optional<std::string> nvidia = {};  ///< NVIDIA_VISIBLE_DEVICES, of a container's runtime
  bool operator==(const VisibleVariables&) const = default;
};

/// Returns the GPUs of `all` that a CUDA program with these variables sees. They are in its order,
/// under their names in CUDA_VISIBLE_DEVICES.
///
/// CUDA reads its list as indices or (beginnings of) UUIDs, and stops at the first entry that names
/// no GPU. NVIDIA_VISIBLE_DEVICES counts only when it is "", none, void or a list of UUIDs. Its
/// indices are those outside the container, where the runtime has already removed the other GPUs.
std::vector<Gpu> visible_gpus(const std::vector<Gpu>& all, const VisibleVariables& variables);

}  // namespace dt
