#include "base/kernels/loops.h"

namespace dt {

namespace {

/// The compiler makes vectors of 16 bytes on every CPU of x86-64 (SSE2) and of aarch64. Conversions
/// of float16 are those of half.h, with selections instead of branches.
struct Portable {
  static constexpr size_t register_bytes = 16;
  static constexpr size_t block_registers = 2;

  using Halves = VectorOf<uint16_t, 4>::Type;
  /// Signed, because SSE2 does not compare unsigned numbers. No sign bit takes part in a
  /// comparison.
  using Words = VectorOf<int32_t, 4>::Type;
  using Floats = VectorOf<float, 4>::Type;

  [[gnu::always_inline]] static Floats widen(Halves halves) {
    const Words bits = __builtin_convertvector(halves, Words);
    const Floats scaled = __builtin_bit_cast(Floats, (bits & 0x7fff) << 13) * 0x1p112F;
    const Words magnitude = __builtin_bit_cast(Words, scaled);
    const Words beyond = magnitude | 0x7f800000;
    const Words special = beyond | ((beyond > 0x7f800000) & 0x00400000);
    const Words finite_or_not = scaled >= 65536.0F ? special : magnitude;
    return __builtin_bit_cast(Floats, finite_or_not | (bits & 0x8000) << 16);
  }

  [[gnu::always_inline]] static Halves narrow(Floats floats) {
    const Words bits = __builtin_bit_cast(Words, floats);
    const Words magnitude = bits & 0x7fffffff;
    const Words odd = magnitude >> 13 & 1;
    const Words normal = (magnitude - 0x38000000 + 0xfff + odd) >> 13;
    const Floats shifted = __builtin_bit_cast(Floats, magnitude) + 0.5F;
    const Words subnormal = __builtin_bit_cast(Words, shifted) - 0x3f000000;
    const Words nan = 0x7e00 | (magnitude >> 13 & 0x1ff);
    const Words finite = magnitude < 0x38800000 ? subnormal : normal;
    const Words ordered = magnitude >= 0x477ff000 ? Words{} + 0x7c00 : finite;
    const Words half = (magnitude > 0x7f800000 ? nan : ordered) | (bits >> 16 & 0x8000);
    return __builtin_convertvector(half, Halves);
  }
};

}  // namespace

constinit const KernelSet portable_kernels = make_kernel_set<Portable>("portable");

}  // namespace dt
