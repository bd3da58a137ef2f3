#pragma once

#include "base/kernels/element.h"
#include "base/kernels/kernel_set.h"

#include <cstddef>
#include <span>

namespace dt {

/// Reduces arrays of one type by one operation other than adasum, element by element. Results have
/// the same bits on every CPU of an architecture, whatever rounding the program has set:
///
/// - Integers wrap. Floats are computed in their own type, smaller ones than float32 in that.
/// - A result is rounded once, to nearest even. Subnormal numbers stay. Too large 8-bit floats and
///   their infinities become the largest number.
/// - If operands are NaN, the result is the first of them, made quiet. A new NaN is the CPU's own.
///   8-bit floats have the NaN 0x7f, with the sign of that.
/// - Booleans become 0 or 1. Sum and maximum are "or", product and minimum are "and".
/// - The negative zero is less than the positive one for minimum and maximum.
///
/// Arrays need the alignment of their elements only. A destination may be one of the sources, but
/// must not overlap it otherwise.
class Reducer {
 public:
  /// Uses the fastest kernels of this CPU. Booleans have no average.
  Reducer(ElementType type, ReduceOp op);
  Reducer(ElementType type, ReduceOp op, const KernelSet& kernels);

  /// `into[i] = into[i] op from[i]`. Average adds.
  void reduce(std::byte* into, const std::byte* from, size_t count) const;

  /// `to[i] = a[i] op b[i]`. Average adds.
  void combine(Destination to, const std::byte* a, const std::byte* b, size_t count) const;

  /// `to[i] = sources[0][i] op sources[1][i] op …`, from left to right, rounded to 8 or 16 bits
  /// at the end only. Average divides the sum by `divisor`; integers toward zero. Requires a source
  /// and a positive divisor.
  void reduce_many(Destination to, std::span<const std::byte* const> sources, size_t count,
                   int divisor = 1) const;

 private:
  bool copies_one_;  ///< all operations but average
  size_t element_bytes_;
  const ReduceLoops& loops_;
};

/// Divides each of `count` elements by `divisor`, which is positive; integers toward zero.
void divide(ElementType type, std::byte* elements, size_t count, int divisor);
void divide(const KernelSet& kernels, ElementType type, std::byte* elements, size_t count,
            int divisor);

}  // namespace dt
