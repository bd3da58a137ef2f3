#pragma once

#include "gpu/cpu/call_probe.h"
#include "gpu/cpu/cpu_memory.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace dt {

class DeviceStream;

struct CpuDeviceOptions {
  int count = 1;
  size_t memory_bytes = size_t{1} << 30;  ///< of each device; nothing is reserved
  bool peer_access = true;                ///< kernels use memory of other devices
  CallProbe probe = {};                   ///< may be empty
};

/// The state that the CPU devices of a process share. Any thread may call it.
class CpuWorld {
 public:
  explicit CpuWorld(CpuDeviceOptions options);

  static std::string name_of_device(int device);
  int device_count() const { return options_.count; }
  CpuMemory& memory() { return memory_; }
  bool can_access(int device, int peer) const { return device == peer || options_.peer_access; }
  Result<> probe(const ProbedCall& call) const;

  /// Fails with the error of the first fail() for this device.
  Result<> status(int device) const;
  /// The device is unusable from now on. `error` is that of a call while it ran.
  void fail_device(int device, std::string_view call, const Error& error);
  /// As fail_device(), for an overrun that was found.
  void fail_overrun(int device, const std::optional<std::string>& overrun);

  void add_stream(DeviceStream* stream);
  void remove_stream(DeviceStream* stream);
  /// Returns the stream at this address; null when there is none.
  DeviceStream* find_stream(const void* address) const;

 private:
  CpuDeviceOptions options_;
  CpuMemory memory_;
  mutable std::mutex mutex_;
  std::vector<std::optional<Error>> failures_;  ///< by device
  std::vector<DeviceStream*> streams_ = {};
};

/// Returns memory that its destructor frees.
Result<DeviceBuffer> allocate_buffer(const std::shared_ptr<CpuWorld>& world,
                                     const CpuAllocation::Terms& terms);

}  // namespace dt
