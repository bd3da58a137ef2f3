#pragma once

#include "base/kernels/element.h"

#include <cstddef>

namespace dt {

/// Fills `count` elements with the identity of the operation: reduced with it, an element keeps its
/// value. An average has the identity of its sum.
void fill_identity(ElementType type, ReduceOp op, std::byte* elements, size_t count);

}  // namespace dt
