#include "cmd/bench/bench_device.h"

#include "gpu/devices/open_devices.h"

namespace dt {
namespace {

/// Only a device that hangs reaches it.
constexpr Duration copy_max = seconds(600);

}  // namespace

Result<std::unique_ptr<BenchDevice>> BenchDevice::open(int local_rank,
                                                       const Environment& environment) {
  std::unique_ptr<BenchDevice> made(new BenchDevice());
  made->devices_ = TRY(open_devices(environment));
  made->device_ = made->devices_[static_cast<size_t>(local_rank) % made->devices_.size()].get();
  made->stream_ = TRY(made->device_->make_stream());
  return made;
}

Result<> BenchDevice::copy(const MemoryCopy& copy) {
  if (copy.bytes == 0) return {};
  TRY(stream_->copy(copy));
  return stream_->synchronize(Clock::now() + copy_max);
}

}  // namespace dt
