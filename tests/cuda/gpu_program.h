#pragma once

#include "gpu/no_gpu.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace dt {

/// Ends the program with 1 when a call of CUDA has failed.
inline void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  std::printf("%s: %s\n", call, cudaGetErrorString(status));
  std::exit(1);
}

/// Ends the program with 77, and the reason, where no GPU is usable.
inline void find_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return;
  CudaVersions versions = {.driver = 0, .runtime = CUDART_VERSION};
  cudaDriverGetVersion(&versions.driver);
  const auto reason = no_gpu_reason(status == cudaSuccess ? cudaErrorNoDevice : status, versions);
  std::printf("%s\n", reason.value_or(cudaGetErrorString(status)).c_str());
  std::exit(77);
}

}  // namespace dt
