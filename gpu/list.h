#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// A GPU, or a MIG instance of one, as a launcher needs to know it.
struct Gpu {
  int index = 0;  ///< among those that this process can open, in the order of their PCI addresses
  std::string uuid = {};    ///< "GPU-…", "MIG-…"
  std::string parent = {};  ///< of a MIG instance: the UUID of its GPU
  std::string name = {};
  std::string bus_id = {};    ///< "0000:3b:00.0", as in /sys/bus/pci/devices
  int numa_node = -1;         ///< -1: not known, or there is only one
  uint64_t memory_bytes = 0;  ///< 0: not known
  uint64_t memory_free_bytes = 0;
  /// How CUDA_VISIBLE_DEVICES names it: as it was written there, else its index, or the UUID of a
  /// MIG instance.
  std::string visible_as = {};
  bool operator==(const Gpu&) const = default;
};

struct GpuList {
  std::vector<Gpu> gpus;
  std::string driver_version = {};         ///< "535.104.05"
  std::string cuda_version = {};           ///< the newest that the driver can serve: "12.2"
  std::vector<std::string> warnings = {};  ///< GPUs that are there and cannot be used
  bool operator==(const GpuList&) const = default;
};

/// Where the facts come from; tests have their own.
struct GpuSources {
  std::string library = "libnvidia-ml.so.1";
  std::string sysfs = "/sys";
};

/// All GPUs that this process can open; a GPU in MIG mode is replaced by its instances. No CUDA
/// context is made. Takes as long as NVIDIA's driver does, which may be seconds. Errc::not_found:
/// this host has no NVIDIA driver.
Result<GpuList> list_gpus(const GpuSources& sources = {});

}  // namespace dt
