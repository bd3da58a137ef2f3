#include "gpu/cuda/stream_memory.h"

#include "base/format.h"

namespace dt {

namespace {

Result<StreamMemory::Operation> operation(const char* name) {
  constexpr unsigned since_version = 12000;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &found, since_version, cudaEnableDefault, &result);
  if (status != cudaSuccess || result != cudaDriverEntryPointSuccess || found == nullptr)
    return fail(Errc::unsupported, format("the driver has no {}", name));
  return reinterpret_cast<StreamMemory::Operation>(found);
}

}  // namespace

Result<StreamMemory> stream_memory() {
  const auto write = TRY(operation("cuStreamWriteValue32"));
  const auto wait = TRY(operation("cuStreamWaitValue32"));
  return StreamMemory{.write = write, .wait = wait};
}

}  // namespace dt
