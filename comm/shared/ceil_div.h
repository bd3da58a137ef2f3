#pragma once

#include <cstddef>

namespace dt {

/// Returns the quotient, rounded up. Requires that the sum of both can be computed.
constexpr size_t ceil_div(size_t value, size_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace dt
