#pragma once

#include "comm/device/buffer_ranges.h"
#include "comm/device/nccl_connection.h"
#include "comm/device/staging_device.h"
#include "comm/schedule/operation_request.h"
#include "gpu/devices/device_places.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace dt {

/// Makes the operations of a job whose buffers lie in memory of devices. Any thread may call it.
///
/// NCCL runs collectives of the groups for which it is allowed. The first one that it could run
/// begins to connect the members' devices in the background. They agree at each such call how they
/// run it. Until they are connected, calls are staged, so that none waits for a connection.
/// Calls of other groups are always staged: kernels of several communicators on one device may wait
/// for each other.
class DeviceCalls {
 public:
  struct NcclTerms {
    RankStore store;
    std::string host = {};                                    ///< of this rank, for messages
    DeviceCollectives wanted = DeviceCollectives::automatic;  ///< not `staged`
  };
  /// NCCL may connect the devices of a group's members. Called before the group's first call.
  void allow_nccl(uint32_t group, NcclTerms terms);
  /// True when NCCL has run a call of the group, or is about to.
  bool uses_nccl(uint32_t group) const;
  /// Called before the engine ends. If NCCL has run a call, waits up to 2 s for the other ranks.
  void farewell();
  /// Ends the connections. Called when no operation pends, and the store answers no more. So a
  /// connection outlives its group: it may wait for the store.
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
  /// A group for which NCCL is allowed.
  struct NcclGroup {
    NcclTerms terms;
    std::shared_ptr<NcclConnection> connection = {};  ///< null: no call has begun to connect
  };
  Result<std::shared_ptr<StagingDevice>> device_at(const DevicePlace& place);
  /// Returns the connection where the ranks have not decided that they stage such calls. Null: the
  /// call is staged.
  std::shared_ptr<NcclConnection> connection_for(const OperationRequest& request, CallingRank self,
                                                 const std::shared_ptr<StagingDevice>& device);

  PossibleDevices possible_;
  mutable std::mutex mutex_;
  std::vector<Known> known_ = {};
  std::map<uint32_t, NcclGroup> groups_ = {};  ///< by number; others are staged
};

/// Fails with Errc::input when the address lies in memory of a device.
Result<> check_on_host(const void* address, const char* what);

}  // namespace dt
