#pragma once

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
};

enum class ReduceOp : uint8_t { sum, average, min, max, product };

}  // namespace dt
