#include "gpu/cross_device/two_shot_all_reduce.h"

#include <algorithm>
#include <vector>

namespace dt {

namespace {

/// The elements of a window that one device reduces.
struct WindowPart {
  size_t begin = 0;
  size_t count = 0;
};

WindowPart part_of(size_t count, size_t device, size_t devices) {
  const size_t begin = count / devices * device + std::min(device, count % devices);
  return {begin, count / devices + (device < count % devices ? 1 : 0)};
}

bool all_access_all(const DeviceGroup& group) {
  for (size_t i = 0; i < group.size(); ++i) {
    for (size_t j = 0; j < group.size(); ++j)
      if (!group.device(i).can_access(group.device(j))) return false;
  }
  return true;
}

}  // namespace

TwoShotAllReduce::TwoShotAllReduce(DeviceGroup& group, size_t num_packs)
    : group_(group), num_packs_(num_packs), all_access_all_(all_access_all(group)) {
}

Result<> TwoShotAllReduce::all_reduce(const CrossDeviceTerms& terms,
                                      std::span<const ReplicatedTensor> tensors) {
  const CheckedTensors checked = TRY(check_all(group_, terms, tensors));
  if (group_.size() == 1) {
    for (const ReplicatedTensor& tensor : tensors)
      TRY(copy_only_replica(group_, terms, tensor));
    return {};
  }
  access_ = checked.access;
  const PackTensors all = {.group = group_, .terms = terms, .tensors = tensors};
  for (const Pack& pack : make_packs(checked.counts, num_packs_)) {
    TRY(reduce_in_windows(all, pack, window_elements(terms, pack),
                          [&](const PackWindow& window) { return reduce_window(terms, window); }));
  }
  return {};
}

size_t TwoShotAllReduce::window_elements(const CrossDeviceTerms& terms, const Pack& pack) const {
  const size_t slot_elements = group_.slot_bytes() / element_bytes(terms.type);
  if (pack.size() > 1) return slot_elements;
  if (!is_direct()) return slot_elements * group_.size();
  return std::max(element_count(pack), size_t{1});
}

Result<> TwoShotAllReduce::reduce_window(const CrossDeviceTerms& terms, const PackWindow& window) {
  TRY(group_.order_all());
  for (size_t i = 0; i < group_.size(); ++i)
    TRY(reduce_part(terms, window, i));
  TRY(group_.order_all());
  if (is_one_step()) return {};
  const size_t width = element_bytes(terms.type);
  for (size_t owner = 0; owner < group_.size(); ++owner) {
    const WindowPart part = part_of(window.count, owner, group_.size());
    if (part.count == 0) continue;
    const size_t skipped = part.begin * width;
    for (size_t i = 0; i < group_.size(); ++i) {
      if (i == owner) continue;
      TRY(group_.stream(i).copy(
          {window.outputs[i] + skipped, window.outputs[owner] + skipped, part.count * width}));
    }
  }
  // Later work of an owner may overwrite what the others read.
  return group_.order_all();
}

Result<> TwoShotAllReduce::reduce_part(const CrossDeviceTerms& terms, const PackWindow& window,
                                       size_t device) {
  const WindowPart part = part_of(window.count, device, group_.size());
  if (part.count == 0) return {};
  ArrayReduction reduction = {.type = terms.type,
                              .op = terms.op,
                              .order = terms.order,
                              .count = part.count,
                              .divisor = static_cast<int>(group_.size())};
  const size_t skipped = part.begin * element_bytes(terms.type);
  for (size_t i = 0; i < group_.size(); ++i) {
    const std::byte* source = TRY(group_.readable({.reader = device,
                                                   .owner = i,
                                                   .at = window.inputs[i] + skipped,
                                                   .bytes = reduction.array_bytes(),
                                                   .access = access_},
                                                  group_.copy_slot(device, i)));
    reduction.sources.push_back(source);
  }
  reduction.into = window.outputs[device] + skipped;
  for (size_t i = 0; i < group_.size() && is_one_step(); ++i)
    if (i != device) reduction.also.push_back(window.outputs[i] + skipped);
  return group_.stream(device).reduce(reduction);
}

}  // namespace dt
