#pragma once

#include <cstddef>
#include <cstdint>

namespace dt {

/// In the order of dtrain_type in dtrain.h, whose numbers begin at 1.
enum class ElementType : uint8_t {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  int16,
  uint16,
  boolean,  ///< a byte; 0 is false, and all others are true
};

inline constexpr size_t element_type_count = 13;

constexpr size_t element_bytes(ElementType type) {
  constexpr size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 2, 4, 8, 2, 2, 1};
  static_assert(sizeof bytes / sizeof bytes[0] == element_type_count);
  return bytes[static_cast<size_t>(type)];
}

/// All but adasum reduce element by element.
enum class ReduceOp : uint8_t { sum, average, min, max, product, adasum };

}  // namespace dt
