#pragma once

#include "gpu/cross_device/device_group.h"
#include "gpu/cross_device/replicated_tensor.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace dt {

/// Reduces tensors on one device, or on the CPU, and copies the results to all destinations.
/// ReductionToOneDevice of TensorFlow does the same. Results are rounded once, in the order of the
/// terms. The destructor waits for the work, as that of the group does.
class ReductionToOneDevice {
 public:
  /// `root` is a device of the group. The group must outlive this.
  static Result<std::unique_ptr<ReductionToOneDevice>> on_device(DeviceGroup& group, size_t root);
  /// Inputs meet in pinned memory, which has a slot for each and for the result.
  static Result<std::unique_ptr<ReductionToOneDevice>> on_cpu(DeviceGroup& group);
  ReductionToOneDevice(const ReductionToOneDevice&) = delete;
  ReductionToOneDevice& operator=(const ReductionToOneDevice&) = delete;
  ~ReductionToOneDevice();

  /// Queues the work. Inputs are read after the earlier work of their stream, and outputs are
  /// complete for its later work. An output that is null gets nothing. Fails without an effect for
  /// tensors that check() refuses. After another failure, outputs have no defined content.
  Result<> reduce(const CrossDeviceTerms& terms, std::span<const ReplicatedTensor> tensors);

 private:
  /// Consecutive elements of a tensor.
  struct Window {
    const ReplicatedTensor& tensor;
    size_t begin = 0;
    size_t count = 0;
  };

  ReductionToOneDevice(DeviceGroup& group, std::optional<size_t> root)
      : group_(group), root_(root) {}
  /// Returns the number of elements that are reduced at once.
  size_t window_elements(const CrossDeviceTerms& terms, const ReplicatedTensor& tensor) const;
  Result<> reduce_on_device(const CrossDeviceTerms& terms, const Window& window, size_t root);
  Result<> reduce_on_cpu(const CrossDeviceTerms& terms, const Window& window);
  std::byte* host_slot(size_t number) const {
    return host_slots_.at() + number * group_.slot_bytes();
  }

  DeviceGroup& group_;
  std::optional<size_t> root_;  ///< none: the CPU
  DeviceBuffer host_slots_ = {};
  KernelAccess access_ = KernelAccess::peers;  ///< to the tensors of the call
};

}  // namespace dt
