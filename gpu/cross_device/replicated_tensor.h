#pragma once

#include "gpu/cross_device/device_group.h"

#include <cstddef>
#include <span>
#include <vector>

namespace dt {

/// How the replicas of tensors are reduced. An average divides by the number of replicas.
struct CrossDeviceTerms {
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  FoldOrder order = FoldOrder::rank;  ///< of the replicas
  bool operator==(const CrossDeviceTerms&) const = default;
};

/// One tensor that each device of a group has. An output may equal the input of its device.
struct ReplicatedTensor {
  size_t count = 0;                           ///< elements
  std::vector<const std::byte*> inputs = {};  ///< by device
  std::vector<std::byte*> outputs = {};       ///< by device
};

/// Which devices get the result of a tensor.
enum class Destinations : uint8_t {
  all,
  some,  ///< those whose output is not null
};

/// Fails with Errc::input when the group cannot reduce the tensor. Checks the number of replicas,
/// null pointers, memory of the host or of another device, operation and type. Queues nothing.
/// Returns KernelAccess::own_device when that holds for some memory of the tensor.
Result<KernelAccess> check(const DeviceGroup& group, const CrossDeviceTerms& terms,
                           const ReplicatedTensor& tensor, Destinations destinations);

/// Facts about tensors that check() has accepted.
struct CheckedTensors {
  std::vector<size_t> counts = {};            ///< of elements
  KernelAccess access = KernelAccess::peers;  ///< to the memory of all of them
};
/// Checks tensors for these devices. Fails as check().
Result<CheckedTensors> check_all(const DeviceGroup& group, const CrossDeviceTerms& terms,
                                 std::span<const ReplicatedTensor> tensors,
                                 Destinations destinations = Destinations::all);

/// Copies the only replica to its output. Requires a group of one.
Result<> copy_only_replica(const DeviceGroup& group, const CrossDeviceTerms& terms,
                           const ReplicatedTensor& tensor);

}  // namespace dt
