#pragma once

#include "base/kernels/element.h"
#include "gpu/device.h"
#include "gpu/nccl/nccl_communicator.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace dt {

/// An array on each of some devices, and the place of its result there, which may be the same.
struct NcclArrays {
  ElementType type = ElementType::float32;
  size_t count = 0;                          ///< elements
  std::span<const std::byte* const> inputs;  ///< by device
  std::span<std::byte* const> outputs;       ///< by device
};

/// Devices of this process, which NCCL connects. A failure is final. One thread at a time.
class NcclDevices {
 public:
  /// Waits until all have joined. The streams, one of each device, must outlive the result. They
  /// must have no work of NCCL when it ends, see finish(). Fails as NcclCommunicator::join().
  static Result<std::unique_ptr<NcclDevices>> join(const NcclLibrary& nccl,
                                                   std::vector<DeviceStream*> streams,
                                                   const NcclWait& wait);

  /// Queues an all_reduce between the earlier and the later work of each stream. Requires a type
  /// that NCCL has. After a failure no kernel of NCCL uses memory of this call, or of an earlier
  /// one.
  Result<> all_reduce(const NcclArrays& arrays, NcclOp op, const NcclWait& wait);

  /// Waits until all work of the streams has run. A kernel of NCCL waits for those of the other
  /// devices. So when a device has failed, or the deadline has passed, all are aborted.
  Result<> finish(const NcclWait& wait);

 private:
  explicit NcclDevices(std::vector<DeviceStream*> streams) : streams_(std::move(streams)) {}
  Result<> run(const NcclArrays& arrays, NcclOp op, const NcclWait& wait);
  Result<DeviceStream*> first_at_work();
  tl::unexpected<Error> abandon(Error why);

  std::vector<DeviceStream*> streams_;
  std::vector<std::unique_ptr<NcclCommunicator>> communicators_ = {};  ///< none after a failure
  std::optional<Error> failure_ = {};
};

}  // namespace dt
