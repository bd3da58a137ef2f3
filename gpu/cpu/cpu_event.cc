#include "gpu/cpu/cpu_event.h"

#include "base/format.h"

namespace dt {

Result<bool> CpuEvent::done() const {
  // In this order: a call before the event fails before that is reached.
  const bool reached = point_ == nullptr || point_->count() > 0;
  TRY(world_->status(device_));
  return reached;
}

Result<> CpuEvent::synchronize(Time deadline) const {
  auto probed = world_->probe({.device = device_, .call = DeviceCall::synchronize});
  if (point_ != nullptr && !point_->wait(1, deadline)) {
    return fail(Errc::timeout,
                format("{}: an event was not reached in time", CpuWorld::name_of_device(device_)));
  }
  // As in a stream, an injected fault comes after the wait.
  if (!probed) {
    return tl::unexpected(std::move(probed).error().during(
        format("{}: {}", CpuWorld::name_of_device(device_), name_of(DeviceCall::synchronize))));
  }
  return world_->status(device_);
}

std::shared_ptr<CpuProgress> CpuEvent::start_record() {
  point_ = std::make_shared<CpuProgress>();
  return point_;
}

}  // namespace dt
