#pragma once

#include "base/kernels/element.h"

#include <cstddef>
#include <vector>

namespace dt {

/// A tensor's type and size.
struct PackedTensor {
  ElementType type = ElementType::float32;
  size_t count = 0;
  size_t bytes() const { return count * element_bytes(type); }
};

/// Returns the indices of the tensors of each pack. A pack has tensors of one type, in the given
/// order, and is closed when it has `bytes_per_pack` or more.
std::vector<std::vector<size_t>> pack_for_workers(const std::vector<PackedTensor>& tensors,
                                                  size_t bytes_per_pack);

}  // namespace dt
