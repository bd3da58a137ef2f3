// For builds without CUDA: stands in for the other files of this folder.
#include "gpu/cuda/cuda_build.h"
#include "gpu/cuda/open_cuda.h"

namespace dt {

CudaBuild cuda_build() {
  return {};
}

Result<DeviceList> open_cuda_devices() {
  return fail(Errc::not_found, "no usable GPU: this build of dtrain has no CUDA");
}

Result<std::unique_ptr<Device>> open_cuda_device(int /*index*/) {
  return fail(Errc::not_found, "no usable GPU: this build of dtrain has no CUDA");
}

int cuda_driver_version() {
  return 0;
}

}  // namespace dt
