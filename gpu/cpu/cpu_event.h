#pragma once

#include "gpu/cpu/cpu_progress.h"
#include "gpu/cpu/cpu_world.h"
#include "gpu/device.h"

#include <memory>

namespace dt {

/// An event of a CPU device. Each record makes a point of its own, so that calls that wait for an
/// older point keep it.
class CpuEvent final : public DeviceEvent {
 public:
  CpuEvent(std::shared_ptr<CpuWorld> world, int device)
      : world_(std::move(world)), device_(device) {}

  Result<bool> done() const override;
  Result<> synchronize(Time deadline) const override;

  int device() const { return device_; }
  /// Makes the point of a new record; it is reached by advance().
  std::shared_ptr<CpuProgress> start_record();
  /// The point of the last record; null when there is none.
  const std::shared_ptr<CpuProgress>& point() const { return point_; }

 private:
  std::shared_ptr<CpuWorld> world_;
  int device_;
  std::shared_ptr<CpuProgress> point_ = {};
};

}  // namespace dt
