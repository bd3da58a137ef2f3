#pragma once

#include "base/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dt {

/// A GPU or a MIG instance: the facts that a launcher needs.
struct Gpu {
  int index = 0;  ///< among the GPUs that this process can open, in the order of PCI addresses
  std::string uuid = {};    ///< "GPU-…", "MIG-…"
  std::string parent = {};  ///< of a MIG instance: the UUID of its GPU
  std::string name = {};
  std::string bus_id = {};    ///< "0000:3b:00.0", as in /sys/bus/pci/devices
  int numa_node = -1;         ///< -1: unknown, or the host has only one node
  uint64_t memory_bytes = 0;  ///< 0: not known
  uint64_t memory_free_bytes = 0;
  /// Its name for CUDA_VISIBLE_DEVICES: as that variable spells it, else its index, or the UUID of
  /// a MIG instance.
  std::string visible_as = {};
  /// Its users: "default", "exclusive_process", "prohibited"; empty: not known.
  std::string compute_mode = {};
  bool operator==(const Gpu&) const = default;
};

/// How two GPUs of a host are connected. MIG instances have no such pairs: none of them can use the
/// memory of another.
struct GpuPair {
  std::string first = {};   ///< UUID
  std::string second = {};  ///< UUID
  /// "NVLink", or the nearest part of the host that both are behind, as in `nvidia-smi topo -m`:
  /// "PIX", "PXB", "PHB", "NODE", "SYS". Empty: not known.
  std::string path = {};
  /// Why kernels of one cannot use the memory of the other. Empty: they can, or it is not known.
  std::string obstacle = {};
  bool operator==(const GpuPair&) const = default;
};

struct GpuList {
  std::vector<Gpu> gpus;
  std::string driver_version = {};         ///< "535.104.05"
  std::string cuda_version = {};           ///< the newest that the driver supports: "12.2"
  std::vector<GpuPair> pairs = {};         ///< of whole GPUs, each once
  std::vector<std::string> warnings = {};  ///< about GPUs that exist but cannot be used
  bool operator==(const GpuList&) const = default;
};

/// The sources of the facts; tests use their own.
struct GpuSources {
  std::string library = "libnvidia-ml.so.1";
  std::string sysfs = "/sys";
};

/// Returns "GPU-4a1b…" for the 16 bytes by which NVIDIA's libraries know a GPU.
std::string gpu_uuid_text(std::span<const char> bytes);

/// Returns all GPUs that this process can open; instances replace a GPU in MIG mode. Creates no
/// CUDA context. NVIDIA's driver may need seconds. Fails with Errc::not_found when this host has no
/// NVIDIA driver.
Result<GpuList> list_gpus(const GpuSources& sources = {});

}  // namespace dt
