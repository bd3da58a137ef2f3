#pragma once

#include "base/result.h"
#include "comm/schedule/schedule.h"
#include "comm/training/strategy/replica_devices.h"

#include <cstddef>
#include <string>
#include <vector>

namespace dt {

/// Runs steps of an all_reduce between the devices of this process. Each replica is a rank, and
/// its output is its input, too. Devices read from each other, where ranks would send.
class DeviceSchedule {
 public:
  /// Requires a tensor that check() accepts, with an output on every device. All must outlive this.
  DeviceSchedule(ReplicaDevices& devices, const CrossDeviceTerms& terms,
                 const ReplicatedTensor& tensor);
  DeviceSchedule(const DeviceSchedule&) = delete;
  DeviceSchedule& operator=(const DeviceSchedule&) = delete;
  /// Waits for the work if the steps use memory of the library.
  ~DeviceSchedule();

  /// Queues the steps of each replica; `algorithm` names them in errors. Fails with Errc::input
  /// when the steps do not fit together.
  Result<> run(const std::string& algorithm, const std::vector<Steps>& steps);

 private:
  /// How far a replica is.
  struct Progress {
    size_t step = 0;
    bool sent = false;
    bool received = false;
  };
  /// One step's data: the sender's, and the step of the receiver.
  struct Transfer {
    size_t from = 0;
    Range sent = {};
    size_t to = 0;
    const Step* step = nullptr;
  };

  Result<> allocate_work(const std::vector<Steps>& steps);
  Result<bool> advance(size_t replica, const std::vector<Steps>& steps);
  Result<> move(const Transfer& transfer);
  Result<> move_part(const Transfer& transfer, size_t begin, size_t count);
  Result<> divide();
  std::byte* at(size_t replica, const Range& range, size_t element) const;

  ReplicaDevices& devices_;
  CrossDeviceTerms terms_;  ///< an average is a sum until divide()
  const ReplicatedTensor& tensor_;
  bool average_ = false;
  std::vector<Progress> progress_;
  std::vector<DeviceBuffer> work_ = {};  ///< by replica
};

}  // namespace dt
