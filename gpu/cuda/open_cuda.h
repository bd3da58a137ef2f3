#pragma once

#include "gpu/device.h"

namespace dt {

/// Opens all GPUs that CUDA_VISIBLE_DEVICES leaves, in CUDA's order. Fails with Errc::not_found and
/// "no usable GPU: …" with the reason.
///
/// The build chooses cuda_device.cc or no_cuda.cc for it.
Result<DeviceList> open_cuda_devices();
/// Opens the GPU of that number alone. Its kernels cannot use the memory of others. So the process
/// gets no context on the others.
Result<std::unique_ptr<Device>> open_cuda_device(int index);

/// Returns the newest CUDA that the driver supports, as 13000. 0 without a driver, or without CUDA
/// in this build.
int cuda_driver_version();

}  // namespace dt
