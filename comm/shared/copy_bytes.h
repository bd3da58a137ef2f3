#pragma once

#include <cstddef>
#include <cstring>

namespace dt {

/// Copies between ranges that may be equal, but do not overlap otherwise. Null pointers are fine
/// when there is nothing to copy.
inline void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes > 0 && to != from) std::memmove(to, from, bytes);
}

}  // namespace dt
