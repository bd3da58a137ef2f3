#pragma once

#include "base/kernels/element.h"
#include "base/kernels/kernel_set.h"

#include <cstddef>

namespace dt {

/// Converts arrays of float32 or float64 to a 16-bit or 8-bit float type, and back. Results have
/// the same bits on every CPU of an architecture. Values are rounded to nearest even, float64 to
/// float32 first. Larger ones than the type has become infinite, or the largest of an 8-bit type. A
/// NaN stays one.
class HalfCaster {
 public:
  /// Uses the fastest kernels of this CPU. Requires `wide` float32 or float64, and `half` one of
  /// the smaller floats.
  HalfCaster(ElementType wide, ElementType half);
  HalfCaster(ElementType wide, ElementType half, const KernelSet& kernels);

  /// The arrays do not overlap.
  void narrow(std::byte* halves, const std::byte* wides, size_t count) const;
  void widen(std::byte* wides, const std::byte* halves, size_t count) const;

 private:
  bool from_double_;
  size_t half_bytes_;
  CastLoop narrow_;
  CastLoop widen_;
};

}  // namespace dt
