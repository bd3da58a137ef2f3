#include "gpu/cross_device/cross_device_operation.h"

#include "gpu/cross_device/hierarchical_copy_all_reduce.h"
#include "gpu/cross_device/two_shot_all_reduce.h"

#include <algorithm>

namespace dt {

Result<std::unique_ptr<CrossDeviceOperation>> CrossDeviceOperation::make(DeviceGroup& group,
                                                                         CrossDeviceName name) {
  std::unique_ptr<CrossDeviceOperation> made(new CrossDeviceOperation(group, name));
  made->to_one_device_ = TRY(ReductionToOneDevice::on_device(group, 0));
  return made;
}

Result<> CrossDeviceOperation::reduce(const CrossDeviceTerms& terms,
                                      std::span<const ReplicatedTensor> tensors) {
  const bool to_all = std::ranges::all_of(tensors, [](const ReplicatedTensor& tensor) {
    return std::ranges::count(tensor.outputs, nullptr) == 0;
  });
  const auto packs = static_cast<size_t>(name_.packs);
  if (to_all && name_.kind == CrossDeviceName::Kind::hierarchical_copy_all_reduce)
    return HierarchicalCopyAllReduce(group_, packs).all_reduce(terms, tensors);
  if (to_all && name_.kind == CrossDeviceName::Kind::all_reduce)
    return TwoShotAllReduce(group_, packs).all_reduce(terms, tensors);
  return to_one_device_->reduce(terms, tensors);
}

}  // namespace dt
