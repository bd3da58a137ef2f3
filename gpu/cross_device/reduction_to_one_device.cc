#include "gpu/cross_device/reduction_to_one_device.h"

#include "base/format.h"

#include <algorithm>

namespace dt {

namespace {

/// Returns the reduction of some elements of all inputs, without its arrays.
ArrayReduction reduction_of(const CrossDeviceTerms& terms, size_t count, size_t replicas) {
  return {.type = terms.type,
          .op = terms.op,
          .order = terms.order,
          .count = count,
          .divisor = static_cast<int>(replicas)};
}

}  // namespace

Result<std::unique_ptr<ReductionToOneDevice>> ReductionToOneDevice::on_device(DeviceGroup& group,
                                                                              size_t root) {
  if (root >= group.size()) {
    return fail(Errc::input,
                format("cannot reduce on device {}: there are {} devices", root, group.size()));
  }
  return std::unique_ptr<ReductionToOneDevice>(new ReductionToOneDevice(group, root));
}

Result<std::unique_ptr<ReductionToOneDevice>> ReductionToOneDevice::on_cpu(DeviceGroup& group) {
  std::unique_ptr<ReductionToOneDevice> made(new ReductionToOneDevice(group, std::nullopt));
  made->host_slots_ = TRY(group.device(0).allocate_pinned((group.size() + 1) * group.slot_bytes()));
  return made;
}

ReductionToOneDevice::~ReductionToOneDevice() {
  if (host_slots_.at() != nullptr) group_.drain();
}

Result<> ReductionToOneDevice::reduce(const CrossDeviceTerms& terms,
                                      std::span<const ReplicatedTensor> tensors) {
  const CheckedTensors checked = TRY(check_all(group_, terms, tensors, Destinations::some));
  access_ = checked.access;
  for (const ReplicatedTensor& tensor : tensors) {
    if (group_.size() == 1) {
      TRY(copy_only_replica(group_, terms, tensor));
      continue;
    }
    const size_t step = window_elements(terms, tensor);
    for (size_t at = 0; at < tensor.count; at += step) {
      const Window window = {tensor, at, std::min(step, tensor.count - at)};
      if (root_)
        TRY(reduce_on_device(terms, window, *root_));
      else
        TRY(reduce_on_cpu(terms, window));
    }
  }
  return {};
}

size_t ReductionToOneDevice::window_elements(const CrossDeviceTerms& terms,
                                             const ReplicatedTensor& tensor) const {
  bool in_place =
      root_.has_value() && tensor.outputs[*root_] != nullptr && access_ == KernelAccess::peers;
  for (size_t i = 0; in_place && i < group_.size(); ++i)
    in_place = group_.device(*root_).can_access(group_.device(i));
  return in_place ? tensor.count : group_.slot_bytes() / element_bytes(terms.type);
}

Result<> ReductionToOneDevice::reduce_on_device(const CrossDeviceTerms& terms, const Window& window,
                                                size_t root) {
  ArrayReduction reduction = reduction_of(terms, window.count, group_.size());
  const size_t bytes = reduction.array_bytes();
  const size_t skipped = window.begin * element_bytes(terms.type);
  for (size_t i = 0; i < group_.size(); ++i) {
    TRY(group_.order({.before = i, .after = root}));
    const std::byte* source = TRY(group_.readable({.reader = root,
                                                   .owner = i,
                                                   .at = window.tensor.inputs[i] + skipped,
                                                   .bytes = bytes,
                                                   .access = access_},
                                                  group_.copy_slot(root, i)));
    reduction.sources.push_back(source);
  }
  std::byte* const own = window.tensor.outputs[root];
  reduction.into = own != nullptr ? own + skipped : group_.result_slot(root);
  TRY(group_.stream(root).reduce(reduction));
  for (size_t i = 0; i < group_.size(); ++i) {
    if (i == root) continue;
    // Later work on a stream may overwrite its input, also where it gets no result.
    TRY(group_.order({.before = root, .after = i}));
    if (window.tensor.outputs[i] == nullptr) continue;
    TRY(group_.stream(i).copy({window.tensor.outputs[i] + skipped, reduction.into, bytes}));
    TRY(group_.order({.before = i, .after = root}));
  }
  return {};
}

Result<> ReductionToOneDevice::reduce_on_cpu(const CrossDeviceTerms& terms, const Window& window) {
  constexpr size_t folding = 0;  // the stream that awaits the inputs
  ArrayReduction reduction = reduction_of(terms, window.count, group_.size());
  const size_t bytes = reduction.array_bytes();
  const size_t skipped = window.begin * element_bytes(terms.type);
  for (size_t i = 0; i < group_.size(); ++i) {
    TRY(group_.stream(i).copy({host_slot(i), window.tensor.inputs[i] + skipped, bytes}));
    TRY(group_.order({.before = i, .after = folding}));
    reduction.sources.push_back(host_slot(i));
  }
  reduction.into = host_slot(group_.size());
  TRY(group_.stream(folding).run_on_host([reduction] { reduce_arrays(reduction); }));
  for (size_t i = 0; i < group_.size(); ++i) {
    // The next fold overwrites the slots. It awaits a copy that each stream makes after this one.
    TRY(group_.order({.before = folding, .after = i}));
    if (window.tensor.outputs[i] == nullptr) continue;
    TRY(group_.stream(i).copy({window.tensor.outputs[i] + skipped, reduction.into, bytes}));
  }
  return {};
}

}  // namespace dt
