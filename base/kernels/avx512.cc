#include "base/kernels/loops.h"

#include <immintrin.h>

namespace dt {

namespace {

/// Converts registers of 16 elements, and small ones of 8.
struct Avx512 {
  static constexpr size_t register_bytes = 64;
  static constexpr size_t block_registers = 4;

  using Halves = VectorOf<uint16_t, 16>::Type;
  using Floats = VectorOf<float, 16>::Type;
  using SmallHalves = VectorOf<uint16_t, 8>::Type;
  using SmallFloats = VectorOf<float, 8>::Type;

  static constexpr int rounding = _MM_FROUND_TO_NEAREST_INT;
  /// With a mask, gcc 12 does not warn of an uninitialised variable in its own header.
  static constexpr __mmask16 all = 0xffff;

  [[gnu::always_inline]] static Floats widen(Halves halves) {
    const auto bits = __builtin_bit_cast(__m256i, halves);
    return __builtin_bit_cast(Floats, _mm512_maskz_cvtph_ps(all, bits));
  }
  [[gnu::always_inline]] static SmallFloats widen(SmallHalves halves) {
    return __builtin_bit_cast(SmallFloats, _mm256_cvtph_ps(__builtin_bit_cast(__m128i, halves)));
  }
  [[gnu::always_inline]] static Halves narrow(Floats floats) {
    const auto values = __builtin_bit_cast(__m512, floats);
    return __builtin_bit_cast(Halves, _mm512_maskz_cvtps_ph(all, values, rounding));
  }
  [[gnu::always_inline]] static SmallHalves narrow(SmallFloats floats) {
    return __builtin_bit_cast(SmallHalves,
                              _mm256_cvtps_ph(__builtin_bit_cast(__m256, floats), rounding));
  }
};

}  // namespace

constinit const KernelSet avx512_kernels = make_kernel_set<Avx512>("avx512");

}  // namespace dt
