#pragma once

#include "gpu/cross_device/device_group.h"
#include "gpu/cross_device/pack_window.h"
#include "gpu/cross_device/replicated_tensor.h"
#include "gpu/nccl/nccl_devices.h"

#include <cstddef>
#include <span>

namespace dt {

/// All-reduce of tensors by NCCL. It chooses the order of additions, and rounds 16-bit floats after
/// each. NCCL makes an average where its result has the bits of our own, which divides the sum.
class NcclAllReduce {
 public:
  /// `num_packs` as in make_packs(). `nccl` connects the streams of the group. Both must outlive
  /// this.
  NcclAllReduce(DeviceGroup& group, NcclDevices& nccl, size_t num_packs = 1)
      : group_(group), nccl_(nccl), num_packs_(num_packs) {}

  /// True for terms that nccl_can_reduce() accepts, and for averages of types that it accepts.
  static bool can_reduce(const CrossDeviceTerms& terms);

  /// As TwoShotAllReduce::all_reduce(). Requires terms that can_reduce() accepts.
  Result<> all_reduce(const CrossDeviceTerms& terms, std::span<const ReplicatedTensor> tensors);

 private:
  Result<> reduce_window(const CrossDeviceTerms& terms, const PackWindow& window);

  DeviceGroup& group_;
  NcclDevices& nccl_;
  size_t num_packs_;
};

}  // namespace dt
