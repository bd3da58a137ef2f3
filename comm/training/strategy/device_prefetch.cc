#include "comm/training/strategy/device_prefetch.h"

#include "base/clock.h"
#include "base/format.h"

#include <system_error>
#include <utility>

namespace dt {
namespace {

constexpr size_t depth_max = 1024;
/// Only a device that hangs reaches it.
constexpr Duration copy_max = seconds(600);

}  // namespace

Result<std::unique_ptr<DevicePrefetch>> DevicePrefetch::start(const ReplicaDevices& devices,
                                                              const Options& options, Fill fill) {
  if (options.replica >= devices.count()) {
    return fail(Errc::input, format("cannot prefetch for replica {} of this process, which has {}",
                                    options.replica, devices.count()));
  }
  if (options.bytes == 0 || options.depth == 0 || options.depth > depth_max) {
    return fail(Errc::input, format("cannot prefetch {} batches of {} bytes; give 1 to {} batches "
                                    "that are not empty",
                                    options.depth, options.bytes, depth_max));
  }
  std::unique_ptr<DevicePrefetch> made(new DevicePrefetch(options, std::move(fill)));
  TRY(made->allocate(devices));
  try {
    made->thread_ = std::thread([self = made.get()] { self->work(); });
  } catch (const std::system_error& error) {
    return fail_errno("start a thread that prefetches", error.code().value());
  }
  return made;
}

Result<> DevicePrefetch::allocate(const ReplicaDevices& devices) {
  Device& device = devices.device(options_.replica);
  stream_ = TRY(device.make_stream());
  if (!device.host_can_access()) staging_ = TRY(device.allocate_pinned(options_.bytes));
  // One more is in use.
  for (size_t i = 0; i <= options_.depth; ++i) {
    DeviceBuffer slot = TRY(devices.allocate(options_.replica, options_.bytes));
    slots_.push_back(std::move(slot));
    free_.push_back(i);
  }
  return {};
}

DevicePrefetch::~DevicePrefetch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Result<ByteSpan> DevicePrefetch::next() {
  std::unique_lock lock(mutex_);
  if (in_use_) free_.push_back(*std::exchange(in_use_, std::nullopt));
  changed_.notify_all();
  changed_.wait(lock, [&] { return !filled_.empty() || ended_ || failure_; });
  if (filled_.empty() && failure_) return tl::unexpected(*failure_);
  if (filled_.empty()) return ByteSpan();
  const Batch batch = filled_.front();
  filled_.pop_front();
  in_use_ = batch.slot;
  return ByteSpan(slots_[batch.slot].at(), batch.bytes);
}

void DevicePrefetch::work() {
  std::unique_lock lock(mutex_);
  while (!ended_ && !failure_) {
    changed_.wait(lock, [&] { return ending_ || !free_.empty(); });
    if (ending_) return;
    const size_t slot = free_.front();
    free_.pop_front();
    lock.unlock();
    auto bytes = fill_slot(slot);
    lock.lock();
    if (!bytes)
      failure_ = std::move(bytes).error();
    else if (*bytes == 0)
      ended_ = true;
    else
      filled_.push_back({slot, *bytes});
    changed_.notify_all();
  }
}

Result<size_t> DevicePrefetch::fill_slot(size_t slot) {
  std::byte* const device = slots_[slot].at();
  std::byte* const host = staging_.at() == nullptr ? device : staging_.at();
  const size_t bytes = TRY(fill_(host));
  if (bytes > options_.bytes) {
    return fail(Errc::input,
                format("a batch to prefetch has {} bytes, and room for {}", bytes, options_.bytes));
  }
  if (host == device || bytes == 0) return bytes;
  TRY(stream_->copy({device, host, bytes}));
  TRY(stream_->synchronize(Clock::now() + copy_max));
  return bytes;
}

}  // namespace dt
