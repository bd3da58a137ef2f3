#include "gpu/cross_device/nccl_all_reduce.h"

#include <algorithm>
#include <vector>

namespace dt {

namespace {

/// Only a device that hangs reaches it.
constexpr Duration call_max = seconds(600);

}  // namespace

bool NcclAllReduce::can_reduce(const CrossDeviceTerms& terms) {
  return nccl_can_reduce(terms.type, op_by_nccl(terms.op));
}

Result<> NcclAllReduce::all_reduce(const CrossDeviceTerms& terms,
                                   std::span<const ReplicatedTensor> tensors) {
  const CheckedTensors checked = TRY(check_all(group_, terms, tensors));
  const PackTensors all = {.group = group_, .terms = terms, .tensors = tensors};
  const size_t slot_elements = group_.slot_bytes() / element_bytes(terms.type);
  for (const Pack& pack : make_packs(checked.counts, num_packs_)) {
    // A tensor alone needs no slot.
    const size_t elements_max =
        pack.size() > 1 ? slot_elements : std::max(element_count(pack), size_t{1});
    TRY(reduce_in_windows(all, pack, elements_max,
                          [&](const PackWindow& window) { return reduce_window(terms, window); }));
  }
  return {};
}

Result<> NcclAllReduce::reduce_window(const CrossDeviceTerms& terms, const PackWindow& window) {
  const bool averages = terms.op == ReduceOp::average;
  const bool by_nccl = averages && nccl_averages(terms.type, group_.size());
  const NcclOp op = by_nccl ? NcclOp::average : nccl_op(op_by_nccl(terms.op)).value();
  TRY(nccl_.all_reduce({.type = terms.type,
                        .count = window.count,
                        .inputs = window.inputs,
                        .outputs = window.outputs},
                       op, {.deadline = Clock::now() + call_max}));
  if (!averages || by_nccl) return {};
  for (size_t i = 0; i < group_.size(); ++i) {
    TRY(group_.stream(i).reduce(division_in_place(terms.type, window.outputs[i], window.count,
                                                  static_cast<int>(group_.size()))));
  }
  return {};
}

}  // namespace dt
