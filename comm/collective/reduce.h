#pragma once

#include "comm/schedule/operation_request.h"

#include <cstddef>
#include <string_view>

namespace dt {

/// True when the number, which a peer or a C caller may have sent, names a type or an operation.
bool known(ElementType type);
bool known(ReduceOp op);

std::string_view element_name(ElementType type);
std::string_view reduce_name(ReduceOp op);
bool is_floating(ElementType type);

/// `into[i] = into[i] op from[i]` for `count` elements, by the rules of Reducer. Average adds;
/// average_over divides later.
struct Reduction {
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  void apply(std::byte* into, const std::byte* from, size_t count) const;
};

/// Divides `count` elements by `divisor`, which is positive; integers toward zero.
void average_over(ElementType type, std::byte* elements, size_t count, int divisor);

}  // namespace dt
