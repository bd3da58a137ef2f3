#pragma once

#include "comm/device/buffer_ranges.h"
#include "comm/device/nccl_connection.h"
#include "comm/device/staging_device.h"
#include "comm/schedule/operation_request.h"
#include "gpu/devices/device_places.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Makes the operations of a job whose buffers lie in memory of devices. Any thread may call it.
///
/// The first collective of the job's group that NCCL could run begins to connect the ranks'
/// devices in the background. The ranks agree before each such call how they run it. Until they
/// are connected, calls are staged, so that none waits for a connection. Calls of other groups are
/// always staged: kernels of several communicators on one device may wait for each other.
class DeviceCalls {
 public:
  struct NcclTerms {
    RankStore store;
    std::string host = {};  ///< of this rank, for messages
    bool required = false;  ///< else calls are staged where it cannot
  };
  /// NCCL may connect the devices of this job's ranks. Called before the first call.
  void allow_nccl(NcclTerms terms);
  /// True when NCCL has run a call, or is about to.
  bool uses_nccl() const;
  /// Called before the engine ends. If NCCL has run a call, waits shortly for the other ranks.
  void farewell();
  /// Ends the connection. Called when no operation pends, and the store answers no more.
  void disconnect();
  /// False for most calls: their buffers lie on the host.
  bool may_concern(const OperationRequest& call) const {
    return call.stream != nullptr || possible_.any();
  }
  /// Returns the operation to start, whose copies have begun. Null: the buffers lie on the host.
  /// Fails with Errc::input for buffers in several places, and for a stream of another device.
  Result<std::shared_ptr<Operation>> stage(const OperationRequest& call, CallingRank self);

 private:
  struct Known {
    DevicePlace place;
    std::shared_ptr<StagingDevice> device;
  };
  Result<std::shared_ptr<StagingDevice>> device_at(const DevicePlace& place);
  /// Returns the connection where the ranks have not decided that they stage such calls. Null: the
  /// call is staged.
  std::shared_ptr<NcclConnection> connection_for(const OperationRequest& request, CallingRank self,
                                                 const std::shared_ptr<StagingDevice>& device);

  PossibleDevices possible_;
  mutable std::mutex mutex_;
  std::vector<Known> known_ = {};
  std::optional<NcclTerms> nccl_ = {};  ///< none: NCCL is not allowed
  std::shared_ptr<NcclConnection> connection_ = {};
};

/// Fails with Errc::input when the address lies in memory of a device.
Result<> check_on_host(const void* address, const char* what);

}  // namespace dt
