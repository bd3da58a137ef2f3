#pragma once

#include "gpu/cross_device/device_group.h"
#include "gpu/cross_device/pack_window.h"
#include "gpu/cross_device/replicated_tensor.h"

#include <cstddef>
#include <span>

namespace dt {

/// All-reduce of tensors in two steps, to which all devices contribute equally. Each device reduces
/// its part of the elements, then copies the parts of the others. Up to 16 devices that can access
/// each other need one step. The kernel of each then writes its part to all. Results are rounded
/// once, in the order of the terms.
class TwoShotAllReduce {
 public:
  /// `num_packs` as in make_packs(). The group must outlive this.
  explicit TwoShotAllReduce(DeviceGroup& group, size_t num_packs = 1);

  /// Queues the work. Inputs are read after the earlier work of their stream, and outputs are
  /// complete for its later work. Fails without an effect for tensors that check() refuses. After
  /// another failure, outputs have no defined content.
  Result<> all_reduce(const CrossDeviceTerms& terms, std::span<const ReplicatedTensor> tensors);

 private:
  /// The largest window of a pack, in elements.
  size_t window_elements(const CrossDeviceTerms& terms, const Pack& pack) const;
  /// True when kernels of each device use the tensors of all.
  bool is_direct() const { return all_access_all_ && access_ == KernelAccess::peers; }
  bool is_one_step() const { return is_direct() && group_.size() <= reduction_results_max; }
  Result<> reduce_window(const CrossDeviceTerms& terms, const PackWindow& window);
  /// Makes the device's part of the result.
  Result<> reduce_part(const CrossDeviceTerms& terms, const PackWindow& window, size_t device);

  DeviceGroup& group_;
  size_t num_packs_;
  bool all_access_all_;  ///< kernels of each device can access the memory of all
  KernelAccess access_ = KernelAccess::peers;  ///< to the tensors of the call
};

}  // namespace dt
