#pragma once

#include "base/kernels/element.h"

#include <cstddef>

namespace dt {

/// Where results go. `also` gets a copy, which saves a second pass that would publish them.
struct Destination {
  std::byte* into = nullptr;
  std::byte* also = nullptr;  ///< may be null
};

/// `count` arrays, in the order in which they are reduced.
struct SourceList {
  const std::byte* const* arrays = nullptr;
  size_t count = 0;
};

using CombineLoop = void (*)(Destination to, const std::byte* a, const std::byte* b, size_t count);
using ReduceManyLoop = void (*)(Destination to, SourceList sources, size_t count, int divisor);
using ScaleLoop = void (*)(std::byte* to, const std::byte* from, size_t count, double factor);
using CastLoop = void (*)(std::byte* to, const std::byte* from, size_t count);
using CopyLoop = void (*)(std::byte* to, const std::byte* from, size_t bytes);
using DivideLoop = void (*)(std::byte* elements, size_t count, int divisor);

/// The loops of one type and one operation. Two of them write to `also`, two ignore it.
struct ReduceLoops {
  CombineLoop combine = nullptr;
  CombineLoop combine_also = nullptr;
  ReduceManyLoop reduce_many = nullptr;
  ReduceManyLoop reduce_many_also = nullptr;
};

/// All loops, compiled for one instruction set. Every set computes the same bits. A caller calls
/// the loops by a Reducer, which sets the rounding that they need.
struct KernelSet {
  const char* name = nullptr;
  /// By ElementType and ReduceOp. A boolean has no average, so its loops there are null.
  ReduceLoops loops[element_type_count][5] = {};
  DivideLoop divide[element_type_count] = {};
  ScaleLoop scale[element_type_count] = {};  ///< null for a boolean
  CastLoop narrow[element_type_count] = {};  ///< of float32; null for all but smaller floats
  CastLoop widen[element_type_count] = {};   ///< to float32; null for all but smaller floats
  CopyLoop copy = nullptr;
};

extern const KernelSet avx512_kernels;    ///< AVX-512 F, BW, DQ and VL; on x86-64 only
extern const KernelSet avx2_kernels;      ///< AVX2 and F16C; on x86-64 only
extern const KernelSet portable_kernels;  ///< for any CPU of the architecture

}  // namespace dt
