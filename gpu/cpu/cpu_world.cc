#include "gpu/cpu/cpu_world.h"

#include "base/format.h"
#include "gpu/device.h"

#include <algorithm>

namespace dt {

CpuWorld::CpuWorld(CpuDeviceOptions options)
    : options_(std::move(options)),
      memory_(options_.count, options_.memory_bytes),
      failures_(static_cast<size_t>(options_.count)) {
}

std::string CpuWorld::name_of_device(int device) {
  return format("cpu:{}", device);
}

Result<> CpuWorld::probe(const ProbedCall& call) const {
  if (!options_.probe) return {};
  return options_.probe(call);
}

Result<> CpuWorld::status(int device) const {
  const std::lock_guard lock(mutex_);
  const std::optional<Error>& failure = failures_[static_cast<size_t>(device)];
  if (failure) return tl::unexpected(*failure);
  return {};
}

void CpuWorld::fail_device(int device, std::string_view call, const Error& error) {
  const std::lock_guard lock(mutex_);
  std::optional<Error>& failure = failures_[static_cast<size_t>(device)];
  if (failure) return;
  failure = Error{error.code, format("{} has failed and stays unusable: {}: {}",
                                     name_of_device(device), call, error.message)};
}

void CpuWorld::fail_overrun(int device, const std::optional<std::string>& overrun) {
  if (overrun) fail_device(device, "check of memory", {Errc::os, *overrun});
}

void CpuWorld::add_stream(DeviceStream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(stream);
}

void CpuWorld::remove_stream(DeviceStream* stream) {
  const std::lock_guard lock(mutex_);
  std::erase(streams_, stream);
}

DeviceStream* CpuWorld::find_stream(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(streams_, address);
  return found == streams_.end() ? nullptr : *found;
}

Result<DeviceBuffer> allocate_buffer(const std::shared_ptr<CpuWorld>& world,
                                     const CpuAllocation::Terms& terms) {
  if (terms.bytes == 0) return DeviceBuffer();
  auto made = world->memory().allocate(terms);
  if (!made)
    return tl::unexpected(std::move(made).error().during(CpuWorld::name_of_device(terms.device)));
  const CpuMemory::Allocation allocation = *made;
  const auto free = [world, allocation](void*) {
    world->fail_overrun(allocation->terms().device, world->memory().free(allocation));
  };
  return DeviceBuffer(std::shared_ptr<void>(allocation->at(), FreeMemory{free}), allocation->at(),
                      terms.bytes);
}

}  // namespace dt
