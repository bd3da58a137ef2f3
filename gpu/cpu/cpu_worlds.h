#pragma once

#include "gpu/cpu/cpu_world.h"

#include <memory>
#include <optional>

namespace dt {

/// A CPU device of this process, among those of all lists that were opened.
struct CpuDevicePlace {
  std::shared_ptr<CpuWorld> world;
  int index = 0;
};

/// Called when CPU devices are opened. They stay known until their world is freed.
void note_cpu_world(const std::shared_ptr<CpuWorld>& world);
/// True when this process has opened CPU devices. One relaxed load of an atomic.
bool has_cpu_devices();
/// Returns the device whose memory has this address; none for other memory, also for pinned one.
std::optional<CpuDevicePlace> find_cpu_device(const std::byte* address);

}  // namespace dt
