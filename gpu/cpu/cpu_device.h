#pragma once

#include "gpu/cpu/cpu_world.h"
#include "gpu/device.h"

#include <memory>

namespace dt {

/// A device on this host's CPUs, for machines without GPUs and for tests: its streams are threads.
/// Its memory is poisoned, and shows overruns (CpuAllocation).
class CpuDevice final : public Device {
 public:
  CpuDevice(std::shared_ptr<CpuWorld> world, int index) : world_(std::move(world)), index_(index) {}

  int index() const override { return index_; }
  std::string name() const override { return CpuWorld::name_of_device(index_); }
  DeviceMemory memory() const override { return world_->memory().of_device(index_); }
  Result<> status() const override { return world_->status(index_); }
  bool can_access(const Device& peer) const override;
  bool host_can_access() const override { return true; }
  MemoryPlace place_of(const std::byte* address) const override;
  Result<DeviceBuffer> allocate(size_t bytes) override;
  Result<DeviceBuffer> allocate_pinned(size_t bytes) override;
  Result<DeviceBuffer> allocate_shared(size_t bytes) override;
  /// Stands for memory of KernelAccess::own_device, which only programs allocate.
  Result<DeviceBuffer> allocate_pooled(size_t bytes);
  Result<Bytes> share(const DeviceBuffer& shared) const override;
  Result<DeviceBuffer> open_shared(ByteSpan handle) override;
  Result<int> prepare_peers() override { return 2; }  // one after the other, in the same order
  Result<std::unique_ptr<DeviceStream>> make_stream() override;
  Result<std::shared_ptr<DeviceStream>> stream_at(void* handle) override;
  Result<std::unique_ptr<DeviceEvent>> make_event() override;

 private:
  Result<> begin(DeviceCall call) const;
  Result<DeviceBuffer> allocate(const CpuAllocation::Terms& terms);

  std::shared_ptr<CpuWorld> world_;
  int index_;
};

/// Fails with Errc::input for a count that is not from 1 to cpu_devices_max.
Result<DeviceList> open_cpu_devices(const CpuDeviceOptions& options);

inline constexpr int cpu_devices_max = 64;

}  // namespace dt
