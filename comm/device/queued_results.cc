#include "comm/device/queued_results.h"

namespace dt {

void QueuedResults::queue(std::shared_ptr<DeviceEvent> behind, size_t of_calls) {
  const std::lock_guard lock(mutex_);
  if (++calls_ != of_calls) return;
  behind_ = std::move(behind);
  changed_.notify_all();
}

void QueuedResults::release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

Result<bool> QueuedResults::let_wait(void* stream, Time deadline) {
  const auto waiting = TRY(device_->stream_at(stream));
  std::unique_lock lock(mutex_);
  const auto known = [&] { return behind_ || released_; };
  if (deadline == Time::max()) {
    changed_.wait(lock, known);
  } else if (!changed_.wait_until(lock, deadline, known)) {
    return fail(Errc::timeout, "the results are not queued in time");
  }
  if (!behind_) return false;
  TRY(waiting->wait(*behind_));
  return true;
}

}  // namespace dt
