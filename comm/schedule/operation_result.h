#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace dt {

/// The result of an operation whose size only the engine knows. It belongs to the operation.
struct OperationResult {
  std::unique_ptr<std::byte[]> data;  ///< the parts of all ranks, behind each other
  std::vector<size_t> counts;         ///< elements of each part, by rank

  void clear() {
    data.reset();
    counts.clear();
  }
};

}  // namespace dt
