#include "gpu/devices/device_places.h"

#include "base/format.h"
#include "gpu/cpu/cpu_device.h"
#include "gpu/cpu/cpu_worlds.h"
#include "gpu/cuda/open_cuda.h"

#include <algorithm>
#include <cstdint>

namespace dt {

namespace {

std::optional<PlacedMemory> find_memory(PointerQuestion driver, const void* address) {
  auto on_cpu = find_cpu_device(static_cast<const std::byte*>(address));
  if (on_cpu) {
    return PlacedMemory{.place = {.cpu_world = std::move(on_cpu->world), .index = on_cpu->index},
                        .allocation = on_cpu->allocation};
  }
  if (driver == nullptr) return std::nullopt;
  const auto on_gpu = find_gpu(driver, address);
  if (!on_gpu) return std::nullopt;
  return PlacedMemory{.place = {.index = on_gpu->gpu}, .allocation = on_gpu->allocation};
}

}  // namespace

PossibleDevices::PossibleDevices()
    : cpu_devices_(cpu_devices_opened()), has_driver_(host_has_driver()) {
}

std::optional<size_t> PlacedMemory::room_at(const std::byte* address) const {
  if (allocation.empty()) return std::nullopt;
  const size_t before =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(allocation.data());
  return allocation.size() - std::min(before, allocation.size());
}

const PlacedMemory* MemoryFinder::find(const void* address) {
  if (address == nullptr) return nullptr;
  if (address != address_) {
    address_ = address;
    found_ = find_memory(driver_, address);
  }
  return found_ ? &*found_ : nullptr;
}

std::optional<DevicePlace> find_device_place(const void* address) {
  MemoryFinder finder;
  const PlacedMemory* const memory = finder.find(address);
  if (memory == nullptr) return std::nullopt;
  return memory->place;
}

std::string name_of(const DevicePlace& place) {
  if (place.cpu_world != nullptr) return CpuWorld::name_of_device(place.index);
  return format("cuda:{}", place.index);
}

Result<std::unique_ptr<Device>> open_device_at(const DevicePlace& place) {
  if (place.cpu_world == nullptr) return open_cuda_device(place.index);
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(place.cpu_world, place.index));
}

}  // namespace dt
