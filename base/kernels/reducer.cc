#include "base/kernels/reducer.h"

#include "base/kernels/cpu.h"
#include "base/kernels/kernel_choice.h"

#include <cassert>
#include <cstring>

namespace dt {

Reducer::Reducer(ElementType type, ReduceOp op) : Reducer(type, op, kernels()) {
}

Reducer::Reducer(ElementType type, ReduceOp op, const KernelSet& kernels)
    : copies_one_(op != ReduceOp::average),
      element_bytes_(element_bytes(type)),
      loops_(kernels.loops[static_cast<size_t>(type)][static_cast<size_t>(op)]) {
  assert(op != ReduceOp::adasum);
}

void Reducer::reduce(std::byte* into, const std::byte* from, size_t count) const {
  const DefaultRounding rounding;
  loops_.combine({into}, into, from, count);
}

void Reducer::combine(Destination to, const std::byte* a, const std::byte* b, size_t count) const {
  const DefaultRounding rounding;
  (to.also == nullptr ? loops_.combine : loops_.combine_also)(to, a, b, count);
}

void Reducer::reduce_many(Destination to, std::span<const std::byte* const> sources, size_t count,
                          int divisor) const {
  assert(!sources.empty() && divisor > 0);
  if (sources.size() == 1 && copies_one_ && count > 0) {
    std::memmove(to.into, sources[0], count * element_bytes_);
    if (to.also != nullptr) std::memcpy(to.also, to.into, count * element_bytes_);
    return;
  }
  const DefaultRounding rounding;
  (to.also == nullptr ? loops_.reduce_many : loops_.reduce_many_also)(
      to, {sources.data(), sources.size()}, count, divisor);
}

void divide(ElementType type, std::byte* elements, size_t count, int divisor) {
  divide(kernels(), type, elements, count, divisor);
}

void divide(const KernelSet& kernels, ElementType type, std::byte* elements, size_t count,
            int divisor) {
  assert(divisor > 0);
  const DefaultRounding rounding;
  kernels.divide[static_cast<size_t>(type)](elements, count, divisor);
}

}  // namespace dt
