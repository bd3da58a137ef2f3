#pragma once

#include "base/kernels/element.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

/// The order in which arrays are combined. Floats are rounded differently in each.
enum class FoldOrder : uint8_t {
  rank,    ///< from left to right
  halves,  ///< the first n/2 and the others, each from left to right; then the results of both
};

/// The type in which elements are combined: float32 for smaller floats, else their own.
constexpr ElementType accumulator_type(ElementType type) {
  switch (type) {
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::float8_e4m3:
    case ElementType::float8_e5m2:
      return ElementType::float32;
    default:
      return type;
  }
}

/// A kernel of a device writes at most so many results of a reduction.
inline constexpr size_t reduction_results_max = 16;

/// A reduction of arrays to one, element by element, as one kernel makes it. Its result is rounded
/// once; one array alone may keep its bits. Arithmetic is that of Reducer.
struct ArrayReduction {
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  FoldOrder order = FoldOrder::rank;
  size_t count = 0;                            ///< elements of each array
  std::vector<const std::byte*> sources = {};  ///< the arrays
  std::byte* into = nullptr;          ///< may be one of the arrays, but not overlap them otherwise
  std::vector<std::byte*> also = {};  ///< get the result as well, with the rules of `into`
  int divisor = 1;                    ///< of an average
  bool operator==(const ArrayReduction&) const = default;

  size_t array_bytes() const { return count * element_bytes(type); }
};

/// Returns the reduction that divides elements in place, as the end of an average.
inline ArrayReduction division_in_place(ElementType type, std::byte* at, size_t count,
                                        int divisor) {
  return {.type = type,
          .op = ReduceOp::average,
          .count = count,
          .sources = {at},
          .into = at,
          .divisor = divisor};
}

/// Fails with Errc::input for a reduction that no device can make. Such a reduction has no arrays,
/// a null one, two results in one place, or a divisor below 1. Others are adasum and the average of
/// booleans.
Result<> check(const ArrayReduction& reduction);

/// Makes the reduction on this thread. Requires a reduction that check() accepts.
void reduce_arrays(const ArrayReduction& reduction);

}  // namespace dt
