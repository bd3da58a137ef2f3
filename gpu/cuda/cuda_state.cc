#include "gpu/cuda/cuda_state.h"

#include "base/format.h"

#include <cuda_runtime_api.h>

namespace dt {

namespace {

/// True for failures of a kernel or of the hardware. CUDA reports them by any later call, and the
/// process can use the device no more.
bool is_final(cudaError_t status) {
  switch (status) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

Errc code_of(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) return Errc::out_of_memory;
  if (status == cudaErrorInvalidValue) return Errc::input;
  return Errc::os;
}

}  // namespace

std::string CudaState::name() const {
  return format("cuda:{}", index_);
}

Result<> CudaState::status() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

Result<> CudaState::check(int status, std::string_view call) {
  const auto error = static_cast<cudaError_t>(status);
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // else a later check of a launch finds it again
  const std::string text = format("{} ({})", cudaGetErrorString(error), cudaGetErrorName(error));
  if (!is_final(error)) return fail(code_of(error), format("{}: {}: {}", name(), call, text));
  const std::lock_guard lock(mutex_);
  if (!failure_) {
    failure_ = Error{Errc::os, format("{}: work failed on the GPU, dtrain's or the program's: {}; "
                                      "compute-sanitizer finds the kernel",
                                      name(), text)};
  }
  return tl::unexpected(*failure_);
}

CurrentCudaDevice::CurrentCudaDevice(int index) {
  if (cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
  if (before_ != index) cudaSetDevice(index);
}

CurrentCudaDevice::~CurrentCudaDevice() {
  if (before_ >= 0) cudaSetDevice(before_);
}

}  // namespace dt
