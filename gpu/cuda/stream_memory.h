#pragma once

#include "base/result.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace dt {

/// The driver's operations on numbers in memory, in the order of a stream. The runtime API has
/// none.
struct StreamMemory {
  /// Returns a cudaError_t, whose numbers are those of the driver.
  using Operation = int (*)(cudaStream_t stream, unsigned long long address, uint32_t value,
                            unsigned flags);
  Operation write = nullptr;  ///< cuStreamWriteValue32()
  Operation wait = nullptr;   ///< cuStreamWaitValue32()
};

/// Returns those of the driver in use. Fails with Errc::unsupported for a driver without them.
Result<StreamMemory> find_stream_memory();

}  // namespace dt
