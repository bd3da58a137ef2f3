#include "gpu/cpu/cpu_worlds.h"

#include <mutex>
#include <vector>

namespace dt {

namespace {

struct WorldList {
  std::atomic<bool> any = false;
  std::mutex mutex;
  std::vector<std::weak_ptr<CpuWorld>> worlds = {};
};

/// An address is known in the whole process, as GPUs know theirs.
WorldList& all_worlds() {
  static constinit WorldList list;
  return list;
}

}  // namespace

void note_cpu_world(const std::shared_ptr<CpuWorld>& world) {
  WorldList& list = all_worlds();
  const std::lock_guard lock(list.mutex);
  std::erase_if(list.worlds, [](const auto& known) { return known.expired(); });
  list.worlds.push_back(world);
  list.any.store(true, std::memory_order_relaxed);
}

const std::atomic<bool>& cpu_devices_opened() {
  return all_worlds().any;
}

std::optional<CpuDeviceMemory> find_cpu_device(const std::byte* address) {
  WorldList& list = all_worlds();
  const std::lock_guard lock(list.mutex);
  for (const auto& known : list.worlds) {
    auto world = known.lock();
    if (!world) continue;
    const CpuMemory::Allocation found = world->memory().find(address);
    if (found == nullptr || found->freed() || found->terms().pinned) continue;
    return CpuDeviceMemory{.world = std::move(world),
                           .index = found->terms().device,
                           .allocation = {found->at(), found->terms().bytes}};
  }
  return std::nullopt;
}

}  // namespace dt
