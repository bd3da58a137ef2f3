#include "gpu/cross_device/cross_device_operation.h"

#include "base/format.h"
#include "base/text.h"
#include "gpu/cross_device/nccl_all_reduce.h"
#include "gpu/cross_device/two_shot_all_reduce.h"
#include "gpu/devices/device_names.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace dt {

namespace {

/// Makes the reduction to the device with that name; empty: the first one.
Result<std::unique_ptr<ReductionToOneDevice>> reduction_to(DeviceGroup& group,
                                                           const std::string& device) {
  if (device.empty()) return ReductionToOneDevice::on_device(group, 0);
  std::vector<std::string> names;
  for (size_t i = 0; i < group.size(); ++i) {
    if (names_device(device, group.device(i))) return ReductionToOneDevice::on_device(group, i);
    names.push_back(group.device(i).name());
  }
  const std::string small = lower_case(device);
  if (small == "cpu" || small == "/cpu" || small.ends_with("cpu:0"))
    return ReductionToOneDevice::on_cpu(group);
  return fail(Errc::input, format("ReductionToOneDevice cannot reduce on \"{}\"; give one of its "
                                  "devices, {}, or cpu",
                                  printable(device), join(names, ", ")));
}

}  // namespace

Result<std::unique_ptr<CrossDeviceOperation>> CrossDeviceOperation::make(DeviceGroup& group,
                                                                         CrossDeviceName name) {
  std::unique_ptr<CrossDeviceOperation> made(new CrossDeviceOperation(group, std::move(name)));
  made->to_one_device_ = TRY(reduction_to(group, made->name_.device));
  return made;
}

Result<> CrossDeviceOperation::reduce(const CrossDeviceTerms& terms,
                                      std::span<const ReplicatedTensor> tensors) {
  const bool to_all = std::ranges::all_of(tensors, [](const ReplicatedTensor& tensor) {
    return std::ranges::count(tensor.outputs, nullptr) == 0;
  });
  using Kind = CrossDeviceName::Kind;
  const auto packs = static_cast<size_t>(name_.packs);
  if (!to_all || name_.kind == Kind::reduction_to_one_device)
    return to_one_device_->reduce(terms, tensors);
  if (name_.kind == Kind::nccl_all_reduce && nccl_ != nullptr && NcclAllReduce::can_reduce(terms))
    return NcclAllReduce(group_, *nccl_, packs).all_reduce(terms, tensors);
  return TwoShotAllReduce(group_, packs).all_reduce(terms, tensors);
}

}  // namespace dt
