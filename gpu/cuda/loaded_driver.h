#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace dt {

/// Questions of the driver about an address: cuPointerGetAttributes(). 0: it has filled all of
/// `into`, with zeros for an address that it does not know.
using PointerQuestion = int (*)(unsigned count, int* attributes, void** into,
                                unsigned long long address);

/// Memory of a GPU that this process uses.
struct GpuMemory {
  int gpu = 0;                                 ///< by CUDA's number
  std::span<const std::byte> allocation = {};  ///< empty: the driver does not know its range
};

/// True when processes of this host can load the driver.
bool host_has_driver();
/// Returns the question of the driver that this process has loaded already; null when it has none.
/// Loads nothing, so that a process without GPUs stays one.
PointerQuestion loaded_driver();

/// Returns the memory of a GPU that has this address; none for memory of the host. That includes
/// pinned memory, and all memory while the driver was never used. Asks once.
std::optional<GpuMemory> find_gpu(PointerQuestion ask, const void* address);

}  // namespace dt
