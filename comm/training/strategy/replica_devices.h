#pragma once

#include "base/environment.h"
#include "comm/training/strategy/strategy_options.h"
#include "gpu/cross_device/cross_device_operation.h"
#include "gpu/device.h"
#include "gpu/devices/devices_in_use.h"
#include "gpu/nccl/nccl_devices.h"
#include "gpu/nccl/nccl_library.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The devices of one process's replicas, each with a stream. One thread at a time, but each
/// replica's thread may use its device and stream.
class ReplicaDevices {
 public:
  /// Fails with Errc::input for devices that do not exist, and for several under one_device. Fails
  /// with it for a communication or a cross-device operation that they do not have, too. Where none
  /// is named, one_device takes the first one.
  static Result<std::unique_ptr<ReplicaDevices>> open(const StrategyOptions& options,
                                                      const Environment& environment);

  /// Connects the devices by NCCL, where NcclAllReduce is an operation. Until then AllReduce is
  /// run in its place. `timeout_ms` of 0: two minutes.
  Result<> connect(int timeout_ms);

  size_t count() const { return devices_.size(); }
  /// The GPUs and libraries, which the workers compare.
  DevicesInUse in_use(const Environment& environment) const;
  Device& device(size_t replica) const { return *devices_[replica]; }
  DeviceStream& stream(size_t replica) const { return *streams_[replica]; }
  DeviceGroup& group() const { return *group_; }

  /// Returns the replica whose device has that name; none: no replica.
  std::optional<size_t> find(std::string_view name) const;
  /// A sentence for each device that soft placement has replaced, and about too little memory.
  const std::vector<std::string>& fallbacks() const { return fallbacks_; }

  /// Allocates memory of the replica's device. Fails with Errc::out_of_memory when too little is
  /// free there, or when the strategy would have more than it may. The memory must not outlive
  /// this.
  Result<DeviceBuffer> allocate(size_t replica, size_t bytes) const;

  /// The operations by the bytes of a tensor.
  const CrossDeviceRules& rules() const { return rules_; }
  /// Queues the reduction of the replicas' tensors by a rule, which is not a registered one.
  Result<> reduce(size_t rule, const CrossDeviceTerms& terms,
                  std::span<const ReplicatedTensor> tensors) {
    return operations_[rule]->reduce(terms, tensors);
  }
  /// Copies between memory of the replica's device and memory of the host, and waits for it.
  Result<> copy(size_t replica, const MemoryCopy& copy) const;
  /// True when kernels wait for those of other devices. Then synchronize() comes before any copy to
  /// pageable memory. CUDA may wait for such a copy, and nobody would see a failed device.
  bool connected() const { return by_nccl_ != nullptr; }
  /// Waits for all work.
  Result<> synchronize() const;

 private:
  /// The bytes that the strategy has on one device. Threads that prefetch free memory, too.
  using UsedBytes = std::atomic<size_t>;

  ReplicaDevices() = default;
  Result<> make_group(const StrategyOptions& options);
  Result<> open_nccl_between(const Environment& environment);
  Result<> open_nccl(const Environment& environment);

  DeviceList all_ = {};
  std::optional<NcclLibrary> nccl_ = {};  ///< for the communication of that name
  std::vector<std::string> fallbacks_ = {};
  size_t memory_max_ = 0;                              ///< of each device; 0: no limit
  std::vector<std::unique_ptr<UsedBytes>> used_ = {};  ///< by replica
  std::vector<Device*> devices_ = {};                  ///< by replica
  std::vector<std::unique_ptr<DeviceStream>> streams_ = {};
  std::unique_ptr<DeviceGroup> group_ = {};
  std::optional<NcclLibrary> nccl_between_ = {};  ///< of the devices; none: no rule needs it
  std::unique_ptr<NcclDevices> by_nccl_ = {};     ///< null: they are not connected
  CrossDeviceRules rules_ = {};
  std::vector<std::unique_ptr<CrossDeviceOperation>> operations_ = {};  ///< by rule
};

}  // namespace dt
