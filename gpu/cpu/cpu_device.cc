#include "gpu/cpu/cpu_device.h"

#include "base/format.h"
#include "gpu/cpu/cpu_event.h"
#include "gpu/cpu/cpu_stream.h"
#include "gpu/cpu/cpu_worlds.h"

namespace dt {

bool CpuDevice::can_access(const Device& peer) const {
  return world_->can_access(index_, peer.index());
}

MemoryPlace CpuDevice::place_of(const std::byte* address) const {
  const CpuMemory::Allocation found = world_->memory().find(address);
  if (found == nullptr || found->freed()) return {};
  if (found->terms().pinned) return {.kind = MemoryPlace::Kind::pinned};
  return {.kind = MemoryPlace::Kind::device,
          .device = found->terms().device,
          .access = found->terms().pooled ? KernelAccess::own_device : KernelAccess::peers};
}

Result<> CpuDevice::begin(DeviceCall call) const {
  TRY(status());
  auto probed = world_->probe({.device = index_, .call = call});
  if (!probed) {
    return tl::unexpected(
        std::move(probed).error().during(format("{}: {}", name(), name_of(call))));
  }
  return {};
}

Result<DeviceBuffer> CpuDevice::allocate(const CpuAllocation::Terms& terms) {
  TRY(begin(DeviceCall::allocate));
  return allocate_buffer(world_, terms);
}

Result<DeviceBuffer> CpuDevice::allocate(size_t bytes) {
  return allocate(CpuAllocation::Terms{.device = index_, .bytes = bytes});
}

Result<DeviceBuffer> CpuDevice::allocate_pinned(size_t bytes) {
  return allocate(CpuAllocation::Terms{.device = index_, .pinned = true, .bytes = bytes});
}

Result<DeviceBuffer> CpuDevice::allocate_shared(size_t bytes) {
  return allocate(CpuAllocation::Terms{.device = index_, .shared = true, .bytes = bytes});
}

Result<DeviceBuffer> CpuDevice::allocate_pooled(size_t bytes) {
  return allocate(CpuAllocation::Terms{.device = index_, .pooled = true, .bytes = bytes});
}

Result<Bytes> CpuDevice::share(const DeviceBuffer& shared) const {
  const CpuMemory::Allocation found = world_->memory().find(shared.at());
  if (found == nullptr || found->shared() == nullptr)
    return fail(Errc::input, format("{}: share: the memory was not allocated for it", name()));
  const CpuSharedMemory::Handle handle = TRY(found->shared()->handle());
  return encode(handle);
}

Result<DeviceBuffer> CpuDevice::open_shared(ByteSpan handle) {
  TRY(begin(DeviceCall::allocate));
  const CpuSharedMemory::Handle decoded = TRY(decode_cpu_memory_handle(handle));
  auto opened = CpuSharedMemory::open(decoded);
  if (!opened) return tl::unexpected(std::move(opened).error().during(name() + ": open_shared"));
  const std::span<std::byte> memory = CpuAllocation::within(**opened);
  return DeviceBuffer(*std::move(opened), memory.data(), memory.size());
}

Result<std::unique_ptr<DeviceStream>> CpuDevice::make_stream() {
  TRY(begin(DeviceCall::make_stream));
  return CpuStream::start(*this, world_);
}

Result<std::shared_ptr<DeviceStream>> CpuDevice::stream_at(void* handle) {
  DeviceStream* const found = world_->find_stream(handle);
  if (found == nullptr || found->device().index() != index_)
    return fail(Errc::input, format("{} has no stream at {}", name(), handle));
  return std::shared_ptr<DeviceStream>(std::shared_ptr<void>(), found);
}

Result<std::unique_ptr<DeviceEvent>> CpuDevice::make_event() {
  TRY(begin(DeviceCall::make_event));
  return std::unique_ptr<DeviceEvent>(std::make_unique<CpuEvent>(world_, index_));
}

Result<DeviceList> open_cpu_devices(const CpuDeviceOptions& options) {
  if (options.count < 1 || options.count > cpu_devices_max) {
    return fail(Errc::input, format("a process has 1 to {} CPU devices, not {}", cpu_devices_max,
                                    options.count));
  }
  const auto world = std::make_shared<CpuWorld>(options);
  note_cpu_world(world);
  DeviceList devices;
  for (int i = 0; i < options.count; ++i)
    devices.push_back(std::make_unique<CpuDevice>(world, i));
  return devices;
}

}  // namespace dt
