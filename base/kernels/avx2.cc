#include "base/kernels/loops.h"

#include <immintrin.h>

namespace dt {

namespace {

/// Converts registers of 8 elements.
struct Avx2 {
  static constexpr size_t register_bytes = 32;
  static constexpr size_t block_registers = 4;

  using Halves = VectorOf<uint16_t, 8>::Type;
  using Floats = VectorOf<float, 8>::Type;

  [[gnu::always_inline]] static Floats widen(Halves halves) {
    return __builtin_bit_cast(Floats, _mm256_cvtph_ps(__builtin_bit_cast(__m128i, halves)));
  }
  [[gnu::always_inline]] static Halves narrow(Floats floats) {
    constexpr int rounding = _MM_FROUND_TO_NEAREST_INT;
    return __builtin_bit_cast(Halves,
                              _mm256_cvtps_ph(__builtin_bit_cast(__m256, floats), rounding));
  }
};

}  // namespace

constinit const KernelSet avx2_kernels = make_kernel_set<Avx2>("avx2");

}  // namespace dt
