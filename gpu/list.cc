#include "gpu/list.h"

#include "base/format.h"
#include "base/text.h"
#include "gpu/gpu_pairs.h"
#include "gpu/no_gpu.h"
#include "gpu/nvml.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>

namespace dt {

namespace {

/// Returns the text that one of NVML's functions writes into a buffer; "" when it fails.
template <class Function, class... Device>
std::string text_of(Function function, Device... device) {
  std::array<char, 96> text = {};  // the longest buffer that NVML requires
  if (function == nullptr) return "";
  if (function(device..., text.data(), text.size() - 1) != Nvml::success) return "";
  return text.data();
}

/// Converts NVML's "00000000:3B:00.0" to the kernel's "0000:3b:00.0".
std::string kernel_bus_id(std::string bus_id) {
  std::ranges::transform(bus_id, bus_id.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  constexpr size_t domain_digits = 8;
  const bool long_domain = bus_id.find(':') == domain_digits && bus_id.starts_with("0000");
  return long_domain ? bus_id.substr(4) : bus_id;
}

int numa_node_of(const std::string& bus_id, const std::string& sysfs) {
  std::ifstream file(format("{}/bus/pci/devices/{}/numa_node", sysfs, bus_id));
  int node = -1;
  return file >> node ? node : -1;
}

/// Returns the only NUMA node whose memory is near; -1: there are several, or it is not known.
int near_memory_node(const Nvml& nvml, Nvml::Device device) {
  constexpr unsigned node_scope = 0;
  std::array<unsigned long, 16> nodes = {};
  if (nvml->memory_affinity == nullptr ||
      nvml->memory_affinity(device, nodes.size(), nodes.data(), node_scope) != Nvml::success)
    return -1;
  int found = -1;
  for (size_t word = 0; word < nodes.size(); ++word) {
    if (nodes[word] == 0) continue;
    if (found >= 0 || !std::has_single_bit(nodes[word])) return -1;
    found = static_cast<int>(word * 64) + std::countr_zero(nodes[word]);
  }
  return found;
}

std::string compute_mode(const Nvml& nvml, Nvml::Device device) {
  int mode = -1;
  if (nvml->compute_mode == nullptr || nvml->compute_mode(device, &mode) != Nvml::success)
    return "";
  switch (mode) {
    case 0:
      return "default";
    case 1:
    case 3:
      return "exclusive_process";
    case 2:
      return "prohibited";
    default:
      return "";
  }
}

/// Returns the facts that a device's handle gives. A MIG instance has its bus and its NUMA node
/// from its GPU.
Gpu describe(const Nvml& nvml, Nvml::Device device) {
  Gpu gpu = {.uuid = text_of(nvml->uuid, device), .name = text_of(nvml->name, device)};
  Nvml::Memory memory = {};
  if (nvml->memory != nullptr && nvml->memory(device, &memory) == Nvml::success) {
    gpu.memory_bytes = memory.total;
    gpu.memory_free_bytes = memory.free;
  }
  return gpu;
}

void locate(Gpu& gpu, const Nvml& nvml, Nvml::Device device, const std::string& sysfs) {
  Nvml::PciInfo pci = {};
  if (nvml->pci_info == nullptr || nvml->pci_info(device, &pci) != Nvml::success) return;
  pci.bus_id[sizeof pci.bus_id - 1] = '\0';
  gpu.bus_id = kernel_bus_id(pci.bus_id);
  gpu.numa_node = numa_node_of(gpu.bus_id, sysfs);
  // Some virtual machines hide the node from the kernel.
  if (gpu.numa_node < 0) gpu.numa_node = near_memory_node(nvml, device);
}

bool in_mig_mode(const Nvml& nvml, Nvml::Device device) {
  if (nvml->mig_mode == nullptr || nvml->mig_count_max == nullptr || nvml->mig_by_index == nullptr)
    return false;
  unsigned current = 0;
  unsigned pending = 0;
  return nvml->mig_mode(device, &current, &pending) == Nvml::success && current == 1;
}

/// Appends the instances of a GPU in MIG mode. Such a GPU computes only in its instances, and may
/// have none yet.
void add_instances(std::vector<Gpu>& gpus, const Nvml& nvml, Nvml::Device device,
                   const Gpu& whole) {
  unsigned count_max = 0;
  if (nvml->mig_count_max(device, &count_max) != Nvml::success) return;
  for (unsigned i = 0; i < count_max; ++i) {
    Nvml::Device instance = nullptr;
    if (nvml->mig_by_index(device, i, &instance) != Nvml::success) continue;
    Gpu gpu = describe(nvml, instance);
    gpu.index = whole.index;
    gpu.parent = whole.uuid;
    gpu.bus_id = whole.bus_id;
    gpu.numa_node = whole.numa_node;
    gpu.visible_as = gpu.uuid;
    gpu.compute_mode = whole.compute_mode;
    gpus.push_back(std::move(gpu));
  }
}

std::string cuda_version(const Nvml& nvml) {
  int version = 0;
  if (nvml->cuda_version == nullptr || nvml->cuda_version(&version) != Nvml::success) return "";
  return cuda_version_text(version);
}

}  // namespace

std::string gpu_uuid_text(std::span<const char> bytes) {
  std::string text = "GPU";
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += format("{:02x}", static_cast<unsigned char>(bytes[i]));
  }
  return text;
}

Result<GpuList> list_gpus(const GpuSources& sources) {
  const Nvml nvml = TRY(Nvml::open(sources.library));
  GpuList list = {.gpus = {},
                  .driver_version = text_of(nvml->driver_version),
                  .cuda_version = cuda_version(nvml)};
  unsigned count = 0;
  if (const int status = nvml->device_count(&count); status != Nvml::success)
    return fail(Errc::os, format("cannot list GPUs: NVML says \"{}\"", nvml.text(status)));
  int opened = 0;
  std::vector<GpuHandle> handles;
  for (unsigned i = 0; i < count; ++i) {
    Nvml::Device device = nullptr;
    const int status = nvml->device_by_index(i, &device);
    // The kernel denies this GPU to this cgroup, and CUDA does not count it either.
    if (status == Nvml::no_permission) continue;
    if (status != Nvml::success) {
      list.warnings.push_back(format("GPU {} cannot be used: {}", i, nvml.text(status)));
      continue;
    }
    Gpu gpu = describe(nvml, device);
    locate(gpu, nvml, device, sources.sysfs);
    gpu.index = opened++;
    gpu.visible_as = format("{}", gpu.index);
    gpu.compute_mode = compute_mode(nvml, device);
    if (in_mig_mode(nvml, device)) {
      add_instances(list.gpus, nvml, device, gpu);
    } else {
      handles.push_back({device, gpu.uuid});
      list.gpus.push_back(std::move(gpu));
    }
  }
  list.pairs = list_gpu_pairs(nvml, handles);
  return list;
}

}  // namespace dt
