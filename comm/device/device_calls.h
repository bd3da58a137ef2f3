#pragma once

#include "comm/device/buffer_ranges.h"
#include "comm/device/staging_device.h"
#include "comm/driver/call_arguments.h"
#include "gpu/devices/device_places.h"

#include <memory>
#include <mutex>
#include <vector>

namespace dt {

/// Makes the operations of a job whose buffers lie in memory of devices. Any thread may call it.
class DeviceCalls {
 public:
  /// False for most calls: their buffers lie on the host.
  bool may_concern(const CallArguments& call) const {
    return call.stream != nullptr || possible_.any();
  }
  /// Returns the operation to start, whose copies have begun. Null: the buffers lie on the host.
  /// Fails with Errc::input for buffers in several places, and for a stream of another device.
  Result<std::shared_ptr<Operation>> stage(const CallArguments& call, CallingRank self);

 private:
  struct Known {
    DevicePlace place;
    std::shared_ptr<StagingDevice> device;
  };
  Result<std::shared_ptr<StagingDevice>> device_at(const DevicePlace& place);

  PossibleDevices possible_;
  std::mutex mutex_;
  std::vector<Known> known_ = {};
};

/// Fails with Errc::input when the address lies in memory of a device.
Result<> check_on_host(const void* address, const char* what);

}  // namespace dt
