#include "base/kernels/cpu.h"

#include <cstring>

namespace dt {

std::span<const KernelSet* const> usable_kernels() {
  static const KernelSet* const sets[] = {&portable_kernels};
  return sets;
}

DefaultRounding::DefaultRounding() : saved_{} {
  std::fegetenv(&saved_);
  std::fesetenv(FE_DFL_ENV);
}

DefaultRounding::~DefaultRounding() {
  std::fesetenv(&saved_);
}

void copy_past_caches(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace dt
