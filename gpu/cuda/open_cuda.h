#pragma once

#include "gpu/device.h"

namespace dt {

/// Opens all GPUs that CUDA_VISIBLE_DEVICES leaves, in CUDA's order. A GPU gets a context when it
/// is first used, and never before. Fails with Errc::not_found and
/// "no usable GPU: …" with the reason.
///
/// The build chooses cuda_device.cc or no_cuda.cc for it.
Result<DeviceList> open_cuda_devices();
/// Opens the GPU of that number alone.
Result<std::unique_ptr<Device>> open_cuda_device(int index);

/// Returns the newest CUDA that the driver supports, as 13000. 0 without a driver, or without CUDA
/// in this build.
int cuda_driver_version();

}  // namespace dt
