#pragma once

#include <cstdint>

namespace dt {

/// A truth value, held as its byte. 0 is false, and all others are true.
struct Boolean {
  uint8_t byte = 0;
};

}  // namespace dt
