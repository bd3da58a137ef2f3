#include "gpu/cuda/stream_memory.h"

#include "gpu/cuda/driver_function.h"

namespace dt {

Result<StreamMemory> find_stream_memory() {
  void* const write = TRY(driver_function("cuStreamWriteValue32"));
  void* const wait = TRY(driver_function("cuStreamWaitValue32"));
  return StreamMemory{.write = reinterpret_cast<StreamMemory::Operation>(write),
                      .wait = reinterpret_cast<StreamMemory::Operation>(wait)};
}

}  // namespace dt
