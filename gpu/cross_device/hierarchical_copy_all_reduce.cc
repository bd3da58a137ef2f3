#include "gpu/cross_device/hierarchical_copy_all_reduce.h"

#include <vector>

namespace dt {

Result<> HierarchicalCopyAllReduce::all_reduce(const CrossDeviceTerms& terms,
                                               std::span<const ReplicatedTensor> tensors) {
  const CheckedTensors checked = TRY(check_all(group_, terms, tensors));
  if (group_.size() == 1) {
    for (const ReplicatedTensor& tensor : tensors)
      TRY(copy_only_replica(group_, terms, tensor));
    return {};
  }
  access_ = checked.access;
  const PackTensors all = {.group = group_, .terms = terms, .tensors = tensors};
  const size_t step = group_.slot_bytes() / element_bytes(accumulator_type(terms.type));
  const std::vector<Pack> packs = make_packs(checked.counts, num_packs_);
  for (size_t i = 0; i < packs.size(); ++i) {
    const HierarchicalPlan plan = hierarchical_plan(i, group_.size());
    TRY(reduce_in_windows(all, packs[i], step, [&](const PackWindow& window) {
      return reduce_window(terms, window, plan);
    }));
  }
  return {};
}

Result<> HierarchicalCopyAllReduce::reduce_window(const CrossDeviceTerms& terms,
                                                  const PackWindow& window,
                                                  const HierarchicalPlan& plan) {
  ArrayReduction reduction = {.type = terms.type,
                              .op = terms.op,
                              .count = window.count,
                              .divisor = static_cast<int>(group_.size())};
  const size_t partial_bytes = reduction.partial_bytes();
  TRY(reduce_members(plan.first, {0, plan.half}, window, reduction));
  if (terms.order == FoldOrder::rank) {
    TRY(group_.order({.before = plan.first, .after = plan.second}));
    const std::byte* before = TRY(partial_of(plan.first, plan.second, partial_bytes));
    reduction.partials = {before};
  }
  TRY(reduce_members(plan.second, {plan.half, group_.size()}, window, reduction));

  TRY(group_.order({.before = plan.first, .after = plan.main}));
  TRY(group_.order({.before = plan.second, .after = plan.main}));
  reduction.partials.clear();
  if (terms.order == FoldOrder::halves) {  // else the second half has the first in it
    const std::byte* first = TRY(partial_of(plan.first, plan.main, partial_bytes));
    reduction.partials.push_back(first);
  }
  const std::byte* second = TRY(partial_of(plan.second, plan.main, partial_bytes));
  reduction.partials.push_back(second);
  reduction.into = window.outputs[plan.main];
  TRY(group_.stream(plan.main).reduce(reduction));
  return distribute(window, plan, reduction.array_bytes());
}

Result<> HierarchicalCopyAllReduce::reduce_members(size_t leader, const MemberRange& members,
                                                   const PackWindow& window,
                                                   ArrayReduction reduction) {
  for (size_t i = members.begin; i < members.end; ++i) {
    TRY(group_.order({.before = i, .after = leader}));
    const std::byte* source = TRY(group_.readable({.reader = leader,
                                                   .owner = i,
                                                   .at = window.inputs[i],
                                                   .bytes = reduction.array_bytes(),
                                                   .access = access_},
                                                  group_.copy_slot(leader, i)));
    reduction.sources.push_back(source);
  }
  reduction.into = group_.partial_slot(leader);
  reduction.partial = true;
  return group_.stream(leader).reduce(reduction);
}

Result<const std::byte*> HierarchicalCopyAllReduce::partial_of(size_t owner, size_t reader,
                                                               size_t bytes) {
  return group_.readable(
      {.reader = reader, .owner = owner, .at = group_.partial_slot(owner), .bytes = bytes},
      group_.peer_partial_slot(reader));
}

Result<> HierarchicalCopyAllReduce::distribute(const PackWindow& window,
                                               const HierarchicalPlan& plan, size_t bytes) {
  TRY(copy_output(window, {.before = plan.main, .after = plan.other_main}, bytes));
  for (size_t i = 0; i < group_.size(); ++i) {
    if (i != plan.main && i != plan.other_main)
      TRY(copy_output(window, {.before = plan.leader(i), .after = i}, bytes));
  }
  return {};
}

Result<> HierarchicalCopyAllReduce::copy_output(const PackWindow& window,
                                                const StreamOrder& devices, size_t bytes) {
  TRY(group_.order(devices));
  TRY(group_.stream(devices.after)
          .copy({window.outputs[devices.after], window.outputs[devices.before], bytes}));
  // Later work of the owner may overwrite what is read here.
  return group_.order({.before = devices.after, .after = devices.before});
}

}  // namespace dt
