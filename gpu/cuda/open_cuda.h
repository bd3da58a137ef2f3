#pragma once

#include "gpu/device.h"

namespace dt {

/// Opens all GPUs that CUDA_VISIBLE_DEVICES leaves, in CUDA's order. Fails with Errc::not_found and
/// "no usable GPU: …" with the reason.
///
/// The build chooses cuda_device.cc or no_cuda.cc for it.
Result<DeviceList> open_cuda_devices();

}  // namespace dt
