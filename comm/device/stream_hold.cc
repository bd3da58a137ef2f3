#include "comm/device/stream_hold.h"

#include "gpu/kernels/peer_signals.cuh"

#include <new>
#include <utility>

namespace dt {

Result<HoldNumber> HoldNumbers::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    DeviceBuffer page = TRY(device_.allocate_pinned(per_page * sizeof(uint32_t)));
    auto* const numbers = new (page.at()) uint32_t[per_page]();
    for (size_t i = 0; i < per_page; ++i)
      free_.push_back({numbers + i, 1});
    pages_.push_back(std::move(page));
  }
  const HoldNumber number = free_.back();
  free_.pop_back();
  return number;
}

void HoldNumbers::keep(HoldNumber number) {
  const std::lock_guard lock(mutex_);
  free_.push_back({number.at, number.value + 1});
}

Result<std::shared_ptr<StreamHold>> StreamHold::make(std::shared_ptr<void> owner,
                                                     HoldNumbers& numbers) {
  const HoldNumber number = TRY(numbers.take());
  return std::make_shared<StreamHold>(std::move(owner), numbers, number);
}

StreamHold::~StreamHold() {
  release();
  numbers_.keep(number_);
}

Result<> StreamHold::hold(void* stream) {
  const auto held = TRY(numbers_.device().stream_at(stream));
  const std::lock_guard lock(mutex_);
  if (released_) return {};
  held_ = true;
  Result<> queued = held->wait_value(number_.at, number_.value);
  if (queued || queued.error().code != Errc::unsupported) return queued;
  return held->run_on_host([self = shared_from_this()] { self->wait(); });
}

void StreamHold::release_behind(DeviceStream& stream, size_t of_calls) {
  const std::lock_guard lock(mutex_);
  if (++calls_ == of_calls) (void)stream.write_value(number_.at, number_.value);
}

void StreamHold::release() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(released_, true) || !held_) return;
  SystemOrder::release(number_.at, number_.value);
  wake_after_release(number_.at);
  changed_.notify_all();
}

void StreamHold::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return released_; });
}

}  // namespace dt
