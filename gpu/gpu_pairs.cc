#include "gpu/gpu_pairs.h"

namespace dt {

namespace {

/// The questions about a pair (nvmlGpuP2PCapsIndex_t).
enum Capability : int { read_access = 0, write_access = 1, over_nvlink = 2 };

/// Returns the status of a capability (nvmlGpuP2PStatus_t): 0 is good, -1 unknown.
int capability_of(const Nvml& nvml, const GpuHandle& a, const GpuHandle& b, Capability capability) {
  int status = -1;
  if (nvml->p2p_status(a.device, b.device, capability, &status) != Nvml::success) return -1;
  return status;
}

std::string obstacle_text(int status) {
  switch (status) {
    case -1:
    case 0:
      return "";
    case 1:
      return "the chipset does not support it";
    case 2:
      return "one of the GPUs does not support it";
    case 3:
      return "they are behind different host bridges";
    case 4:
      return "a setting of NVIDIA's driver disables it";
    case 5:
      return "it is not supported";
    default:
      return "NVIDIA's driver has no reason";
  }
}

/// Returns the nearest common ancestor (nvmlGpuTopologyLevel_t) by its name in `nvidia-smi topo
/// -m`.
std::string ancestor_text(const Nvml& nvml, const GpuHandle& a, const GpuHandle& b) {
  int level = -1;
  if (nvml->common_ancestor == nullptr ||
      nvml->common_ancestor(a.device, b.device, &level) != Nvml::success)
    return "";
  switch (level) {
    case 0:
    case 10:
      return "PIX";
    case 20:
      return "PXB";
    case 30:
      return "PHB";
    case 40:
      return "NODE";
    case 50:
      return "SYS";
    default:
      return "";
  }
}

GpuPair pair_of(const Nvml& nvml, const GpuHandle& a, const GpuHandle& b) {
  GpuPair pair = {.first = a.uuid, .second = b.uuid};
  const bool nvlink = capability_of(nvml, a, b, over_nvlink) == 0;
  pair.path = nvlink ? "NVLink" : ancestor_text(nvml, a, b);
  for (const Capability capability : {read_access, write_access}) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      if (pair.obstacle.empty())
        pair.obstacle = obstacle_text(capability_of(nvml, from, to, capability));
    }
  }
  return pair;
}

}  // namespace

std::vector<GpuPair> list_gpu_pairs(const Nvml& nvml, const std::vector<GpuHandle>& gpus) {
  std::vector<GpuPair> pairs;
  if (nvml->p2p_status == nullptr) return pairs;
  for (size_t i = 0; i < gpus.size(); ++i) {
    for (size_t j = i + 1; j < gpus.size(); ++j)
      pairs.push_back(pair_of(nvml, gpus[i], gpus[j]));
  }
  return pairs;
}

}  // namespace dt
