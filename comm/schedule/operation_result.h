#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

namespace dt {

/// The result of an operation whose size only the engine knows. It belongs to the operation.
struct OperationResult {
  std::unique_ptr<std::byte[]> data;  ///< the parts of all ranks, behind each other
  std::vector<size_t> counts;         ///< elements of each part, by rank
  /// The same parts in memory of the device that has the input; null: the input is on the host.
  std::shared_ptr<std::byte> on_device = {};

  const std::byte* at() const { return on_device ? on_device.get() : data.get(); }

  /// Makes room for the parts. If they exceed every memory, std::bad_alloc is thrown.
  void allocate(size_t element_bytes) {
    constexpr size_t bytes_max = std::numeric_limits<size_t>::max() / 2;
    size_t elements = 0;
    for (const size_t count : counts) {
      const bool fits = count <= bytes_max / element_bytes - elements;
      elements = fits ? elements + count : bytes_max / element_bytes;
    }
    data = std::make_unique_for_overwrite<std::byte[]>(elements * element_bytes);
  }

  void clear() {
    data.reset();
    counts.clear();
    on_device.reset();
  }
};

}  // namespace dt
