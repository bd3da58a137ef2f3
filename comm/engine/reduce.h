#pragma once

#include "comm/engine/engine.h"

#include <cstddef>
#include <span>
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

/// Reduces one array of each rank, in the order of the ranks: `into[i] = sources[0][i] op
/// sources[1][i] op …` for `count` elements. `into` may be one of the sources, and overlaps none
/// otherwise. An average is divided by the number of sources.
void reduce_in_order(const OperationRequest& request, std::span<const std::byte* const> sources,
                     std::byte* into, size_t count);

/// Divides `count` elements of a floating type by `divisor`.
void average_over(ElementType type, std::byte* elements, size_t count, int divisor);

}  // namespace dt
