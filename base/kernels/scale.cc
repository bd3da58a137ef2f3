#include "base/kernels/scale.h"

#include "base/kernels/cpu.h"
#include "base/kernels/kernel_choice.h"

#include <cassert>

namespace dt {

Scale::Scale(ElementType type, double factor) : Scale(type, factor, kernels()) {
}

Scale::Scale(ElementType type, double factor, const KernelSet& kernels)
    : loop_(kernels.scale[static_cast<size_t>(type)]), factor_(factor) {
  assert(loop_ != nullptr);
}

void Scale::apply(std::byte* to, const std::byte* from, size_t count) const {
  const DefaultRounding rounding;
  loop_(to, from, count, factor_);
}

}  // namespace dt
