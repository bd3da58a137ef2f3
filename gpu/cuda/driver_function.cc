#include "gpu/cuda/driver_function.h"

#include "base/format.h"

#include <cuda_runtime_api.h>

namespace dt {

Result<void*> driver_function(const char* name) {
  constexpr unsigned since_version = 12000;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &found, since_version, cudaEnableDefault, &result);
  if (status != cudaSuccess || result != cudaDriverEntryPointSuccess || found == nullptr)
    return fail(Errc::unsupported, format("the driver has no {}", name));
  return found;
}

}  // namespace dt
