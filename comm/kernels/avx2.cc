#include "comm/kernels/loops.h"

#include <immintrin.h>

namespace dt {

namespace {

/// Conversions of 8 elements. gcc 12 makes several times as many instructions of plain vector code.
struct Avx2 {
  static constexpr size_t register_bytes = 32;

  using Halves = VectorOf<uint16_t, 8>::Type;
  using Words = VectorOf<uint32_t, 8>::Type;
  using Floats = VectorOf<float, 8>::Type;

  [[gnu::always_inline]] static Floats widen(Halves halves) {
    return __builtin_bit_cast(Floats, _mm256_cvtph_ps(__builtin_bit_cast(__m128i, halves)));
  }
  [[gnu::always_inline]] static Halves narrow(Floats floats) {
    constexpr int rounding = _MM_FROUND_TO_NEAREST_INT;
    return __builtin_bit_cast(Halves,
                              _mm256_cvtps_ph(__builtin_bit_cast(__m256, floats), rounding));
  }
  [[gnu::always_inline]] static Words extend(Halves halves) {
    return __builtin_bit_cast(Words, _mm256_cvtepu16_epi32(__builtin_bit_cast(__m128i, halves)));
  }
  /// Requires numbers below 65536.
  [[gnu::always_inline]] static Halves truncate(Words words) {
    const auto all = __builtin_bit_cast(__m256i, words);
    return __builtin_bit_cast(
        Halves, _mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
  }
};

}  // namespace

constinit const KernelSet avx2_kernels = make_kernel_set<Avx2>("avx2");

}  // namespace dt
