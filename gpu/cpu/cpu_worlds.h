#pragma once

#include "gpu/cpu/cpu_world.h"

#include <atomic>
#include <memory>
#include <optional>
#include <span>

namespace dt {

/// Memory of a CPU device of this process, among those of all lists that were opened.
struct CpuDeviceMemory {
  std::shared_ptr<CpuWorld> world;
  int index = 0;
  std::span<const std::byte> allocation = {};
};

/// Called when CPU devices are opened. They stay known until their world is freed.
void note_cpu_world(const std::shared_ptr<CpuWorld>& world);
/// Becomes true when this process opens CPU devices.
const std::atomic<bool>& cpu_devices_opened();
/// Returns the memory of a device that has this address; none for other memory, also for pinned
/// one.
std::optional<CpuDeviceMemory> find_cpu_device(const std::byte* address);

}  // namespace dt
