#include "gpu/devices/device_places.h"

#include "base/format.h"
#include "gpu/cpu/cpu_device.h"
#include "gpu/cpu/cpu_worlds.h"
#include "gpu/cuda/loaded_driver.h"
#include "gpu/cuda/open_cuda.h"

namespace dt {

PossibleDevices::PossibleDevices()
    : cpu_devices_(cpu_devices_opened()), has_driver_(host_has_driver()) {
}

std::optional<DevicePlace> find_device_place(const void* address) {
  auto found = find_cpu_device(static_cast<const std::byte*>(address));
  if (found) return DevicePlace{.cpu_world = std::move(found->world), .index = found->index};
  const PointerQuestion driver = loaded_driver();
  if (driver == nullptr) return std::nullopt;
  const auto gpu = find_gpu(driver, address);
  if (!gpu) return std::nullopt;
  return DevicePlace{.index = *gpu};
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
