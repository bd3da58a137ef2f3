#pragma once

#include "base/environment.h"
#include "gpu/device.h"

#include <memory>
#include <string>

namespace dt {

/// The device of a rank, in whose memory the measured buffers lie. It must outlive them.
class BenchDevice {
 public:
  /// Takes the device of this local rank, in turn where there are fewer devices. Fails with
  /// Errc::not_found and "no usable GPU: …" where there is none.
  static Result<std::unique_ptr<BenchDevice>> open(int local_rank, const Environment& environment);

  std::string name() const { return device_->name(); }
  std::string uuid() const { return device_->uuid(); }
  std::string model() const { return device_->model(); }
  Result<DeviceBuffer> allocate(size_t bytes) { return device_->allocate(bytes); }
  /// Copies between the host and the device. Returns when the copy is done.
  Result<> copy(const MemoryCopy& copy);

 private:
  BenchDevice() = default;

  DeviceList devices_ = {};
  Device* device_ = nullptr;
  std::unique_ptr<DeviceStream> stream_ = {};
};

}  // namespace dt
