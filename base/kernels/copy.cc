#include "base/kernels/copy.h"

#include "base/kernels/kernel_choice.h"

#include <cstring>

namespace dt {

namespace {

/// memcpy has vectors of its own below.
constexpr size_t loop_bytes_min = size_t{1} << 10;

}  // namespace

void copy_array(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes == 0 || to == from) return;
  if (bytes < loop_bytes_min) {
    std::memcpy(to, from, bytes);
  } else {
    kernels().copy(to, from, bytes);
  }
}

}  // namespace dt
