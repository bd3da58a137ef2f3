#pragma once

#include "base/kernels/element.h"
#include "gpu/device.h"
#include "gpu/nccl/nccl_communicator.h"

#include <cstddef>
#include <memory>
#include <span>

namespace dt {

/// Elements in memory of a device that all ranks have.
struct NcclTensor {
  ElementType type = ElementType::float32;
  size_t count = 0;
  std::byte* at = nullptr;
};

/// A device among those of other ranks, which NCCL connects. A failure is final. One thread at a
/// time. The stream must outlive this.
class NcclDevice {
 public:
  /// Fails as NcclCommunicator::join().
  static Result<std::unique_ptr<NcclDevice>> join(const NcclLibrary& nccl,
                                                  const NcclMembership& membership,
                                                  DeviceStream& stream, const NcclWait& wait);

  /// True for tensors that all_reduce() can take. NCCL has no averages: they are sums, which the
  /// caller divides.
  static bool can_reduce(ElementType type, ReduceOp op) { return nccl_can_reduce(type, op); }

  /// Reduces the tensors in place, after the earlier work of the stream, and waits for the results.
  /// Requires tensors that can_reduce() accepts. After a failure no kernel of NCCL uses them.
  Result<> all_reduce(std::span<const NcclTensor> tensors, ReduceOp op, const NcclWait& wait);

 private:
  explicit NcclDevice(DeviceStream& stream) : stream_(stream) {}
  Result<> run(std::span<const NcclCall> calls, const NcclWait& wait);
  Result<> finish(const NcclWait& wait);

  DeviceStream& stream_;
  std::unique_ptr<NcclCommunicator> communicator_ = {};  ///< null after a failure
};

}  // namespace dt
