#pragma once

#include "base/kernels/element.h"
#include "base/kernels/kernel_set.h"

#include <cstddef>

namespace dt {

/// Multiplies arrays by a finite number. Results have the same bits on every CPU of an
/// architecture.
///
/// - Numbers of float32 and float64 are multiplied in their own type, smaller floats in float32.
///   The factor is rounded to that type.
/// - Integers are multiplied in float64, and truncated toward zero. Results beyond the type become
///   its nearest number.
///
/// Booleans have no scale.
class Scale {
 public:
  /// Uses the fastest kernels of this CPU.
  Scale(ElementType type, double factor);
  Scale(ElementType type, double factor, const KernelSet& kernels);

  /// `to[i] = from[i] * factor`. The arrays are one, or do not overlap.
  void apply(std::byte* to, const std::byte* from, size_t count) const;

 private:
  ScaleLoop loop_;
  double factor_;
};

}  // namespace dt
