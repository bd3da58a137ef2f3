#pragma once

#include <optional>

namespace dt {

/// A question of the driver about an address: cuPointerGetAttribute(). 0: it has filled `into`.
using PointerQuestion = int (*)(void* into, int attribute, unsigned long long address);

/// True when processes of this host can load the driver.
bool host_has_driver();
/// Returns the question of the driver that this process has loaded already; null when it has none.
/// Loads nothing, so that a process without GPUs stays one.
PointerQuestion loaded_driver();

/// Returns the GPU whose memory has this address, by CUDA's number; none for memory of the host.
/// That includes pinned memory, and all memory while the driver was never used.
std::optional<int> find_gpu(PointerQuestion ask, const void* address);

}  // namespace dt
