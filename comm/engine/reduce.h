#pragma once

#include "comm/engine/engine.h"

#include <cstddef>
#include <string_view>

namespace dt {

/// Whether the number names a type or an operation of ours (it may come from a peer or from C).
bool known(ElementType type);
bool known(ReduceOp op);

size_t element_bytes(ElementType type);
std::string_view element_name(ElementType type);
std::string_view reduce_name(ReduceOp op);
bool is_floating(ElementType type);

/// `into[i] = into[i] op from[i]` for `count` elements. 16-bit floats are computed in float32 and
/// rounded to nearest even; integers wrap; min and max yield NaN where either is NaN; average adds
/// (average_over divides later). Both must be aligned for the type.
struct Reduction {
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  void apply(std::byte* into, const std::byte* from, size_t count) const;
};

/// Divides `count` elements of a floating type by `divisor`.
void average_over(ElementType type, std::byte* elements, size_t count, int divisor);

}  // namespace dt
