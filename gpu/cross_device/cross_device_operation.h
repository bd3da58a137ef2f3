#pragma once

#include "choices/strategy_name.h"
#include "gpu/cross_device/reduction_to_one_device.h"
#include "gpu/nccl/nccl_devices.h"

#include <memory>
#include <span>
#include <utility>

namespace dt {

/// The operation with a name that users know: how the devices of a group reduce tensors.
class CrossDeviceOperation {
 public:
  /// The group must outlive this. Fails with Errc::input when the device of ReductionToOneDevice is
  /// neither one of the group nor the CPU.
  static Result<std::unique_ptr<CrossDeviceOperation>> make(DeviceGroup& group,
                                                            CrossDeviceName name);

  /// NcclAllReduce reduces by `nccl` from now on, which must outlive this.
  void use(NcclDevices& nccl) { nccl_ = &nccl; }

  /// Queues the work, as the operation of that name does. Tensors of which only some devices get
  /// the result (an output is null) are reduced on one device. AllReduce takes what
  /// NcclAllReduce cannot reduce, and all before use(). HierarchicalCopyAllReduce is AllReduce.
  Result<> reduce(const CrossDeviceTerms& terms, std::span<const ReplicatedTensor> tensors);

 private:
  CrossDeviceOperation(DeviceGroup& group, CrossDeviceName name)
      : group_(group), name_(std::move(name)) {}

  DeviceGroup& group_;
  CrossDeviceName name_;
  NcclDevices* nccl_ = nullptr;
  std::unique_ptr<ReductionToOneDevice> to_one_device_ = {};
};

}  // namespace dt
