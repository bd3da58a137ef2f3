#pragma once

#include "gpu/cross_device/device_group.h"
#include "gpu/cross_device/hierarchical_plan.h"
#include "gpu/cross_device/pack_window.h"
#include "gpu/cross_device/replicated_tensor.h"

#include <cstddef>
#include <span>

namespace dt {

/// All-reduce of tensors in two halves of the devices, after HierarchicalCopyAllReduce of
/// TensorFlow. TensorFlow made it for machines whose links join two groups of GPUs:
///
///     half 0 ── reduce ▶ first  ─┐            ┌▶ first  ── copy ▶ half 0
///                                ├─▶ main ────┤
///     half 1 ── reduce ▶ second ─┘            └▶ second ── copy ▶ half 1
///
/// There, an odd number of devices loses the last one. Here it does not, and the order of the fold
/// is an argument. By rank, the second half continues the result of the first.
class HierarchicalCopyAllReduce {
 public:
  /// `num_packs` as in make_packs(). The group must outlive this.
  explicit HierarchicalCopyAllReduce(DeviceGroup& group, size_t num_packs = 1)
      : group_(group), num_packs_(num_packs) {}

  /// Queues the work. Inputs are read after the earlier work of their stream, and outputs are
  /// complete for its later work. Fails without an effect for tensors that check() refuses. After
  /// another failure, outputs have no defined content.
  Result<> all_reduce(const CrossDeviceTerms& terms, std::span<const ReplicatedTensor> tensors);

 private:
  struct MemberRange {
    size_t begin = 0;
    size_t end = 0;
  };

  Result<> reduce_window(const CrossDeviceTerms& terms, const PackWindow& window,
                         const HierarchicalPlan& plan);
  /// Reduces some inputs to the leader's partial slot, after the partial results in `reduction`.
  Result<> reduce_members(size_t leader, const MemberRange& members, const PackWindow& window,
                          ArrayReduction reduction);
  /// Copies the result from main to all others.
  Result<> distribute(const PackWindow& window, const HierarchicalPlan& plan, size_t bytes);
  /// Copies an output to another device, whose stream waits for it, and which its owner awaits.
  Result<> copy_output(const PackWindow& window, const StreamOrder& devices, size_t bytes);
  /// Returns where `reader` finds the partial result of `owner`.
  Result<const std::byte*> partial_of(size_t owner, size_t reader, size_t bytes);

  DeviceGroup& group_;
  size_t num_packs_;
  KernelAccess access_ = KernelAccess::peers;  ///< to the tensors of the call
};

}  // namespace dt
