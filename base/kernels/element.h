#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace dt {

/// In the order of dtrain_type in dtrain.h; see type_number().
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
  float8_e4m3,
  float8_e5m2,
};

inline constexpr size_t element_type_count = 15;

constexpr size_t element_bytes(ElementType type) {
  constexpr size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 2, 4, 8, 2, 2, 1, 1, 1};
  static_assert(sizeof bytes / sizeof bytes[0] == element_type_count);
  return bytes[static_cast<size_t>(type)];
}

/// Returns the type's number in dtrain.h. Those begin at 1, and opaque elements have one before the
/// 8-bit floats.
constexpr int type_number(ElementType type) {
  return static_cast<int>(type) + (type < ElementType::float8_e4m3 ? 1 : 2);
}

/// Returns the type with that number; none for opaque elements, and where there is no type.
constexpr std::optional<ElementType> type_with_number(int number) {
  for (size_t i = 0; i < element_type_count; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (type_number(type) == number) return type;
  }
  return std::nullopt;
}

/// All but adasum reduce element by element.
enum class ReduceOp : uint8_t { sum, average, min, max, product, adasum };

}  // namespace dt
