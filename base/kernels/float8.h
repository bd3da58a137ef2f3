#pragma once

#include <cstdint>

namespace dt {

/// 8-bit floats of the OCP (OFP8), held as their bits: sign, 4 bits of exponent and 3 of mantissa.
/// No infinity; 0x7f is NaN, and 448 is the largest.
struct Float8E4M3 {
  uint8_t bits = 0;
};

/// Sign, 5 bits of exponent and 2 of mantissa: the upper half of a binary16. The largest is 57344.
struct Float8E5M2 {
  uint8_t bits = 0;
};

template <class Float8>
struct Float8Shape;
template <>
struct Float8Shape<Float8E4M3> {
  static constexpr int mantissa = 3;
  static constexpr int bias = 7;
  static constexpr int32_t largest = 0x7e;
};
template <>
struct Float8Shape<Float8E5M2> {
  static constexpr int mantissa = 2;
  static constexpr int bias = 15;
  static constexpr int32_t largest = 0x7b;
};

// These functions are inlined always, as those of half.h. They take single numbers, and vectors of
// the compiler. As they are constexpr, nvcc compiles them for GPUs, too. Words have 32 bits and a
// sign, because SSE2 does not compare unsigned numbers.

/// Returns the bits of the nearest Float8, or of the even one. Too large values and infinities
/// become the largest number, and a NaN stays one.
template <class Float8, class Words, class Floats>
[[gnu::always_inline]] constexpr Words float8_bits(Floats value) {
  using Shape = Float8Shape<Float8>;
  constexpr int dropped = 23 - Shape::mantissa;
  constexpr int32_t bias_difference = (127 - Shape::bias) << 23;
  constexpr int32_t smallest_normal = bias_difference + (1 << 23);
  // Its unit in the last place is the smallest Float8, so an addition rounds to that.
  constexpr int32_t rounder = (127 + 1 - Shape::bias + dropped) << 23;
  const Words bits = __builtin_bit_cast(Words, value);
  const Words magnitude = bits & 0x7fffffff;
  const Words subnormal = __builtin_bit_cast(Words, __builtin_bit_cast(Floats, magnitude) +
                                                        __builtin_bit_cast(float, rounder)) -
                          rounder;
  const Words odd = magnitude >> dropped & 1;
  const Words normal = (magnitude - bias_difference + ((1 << (dropped - 1)) - 1) + odd) >> dropped;
  const Words rounded = magnitude < smallest_normal ? subnormal : normal;
  const Words finite = rounded > Shape::largest ? Words{} + Shape::largest : rounded;
  return (magnitude > 0x7f800000 ? Words{} + 0x7f : finite) | (bits >> 24 & 0x80);
}

/// Returns the numbers of Float8 with these bits. A NaN becomes a quiet one of its sign.
template <class Float8, class Floats, class Words>
[[gnu::always_inline]] constexpr Floats float8_values(Words bits) {
  using Shape = Float8Shape<Float8>;
  constexpr int32_t bias_difference = (127 - Shape::bias) << 23;
  constexpr int32_t smallest_normal = bias_difference + (1 << 23);
  const Words magnitude = bits & 0x7f;
  const Words shifted = magnitude << (23 - Shape::mantissa);
  // The mantissa of a subnormal number follows no one: it gets one, which is subtracted again.
  const Words subnormal =
      __builtin_bit_cast(Words, __builtin_bit_cast(Floats, shifted | smallest_normal) -
                                    __builtin_bit_cast(float, smallest_normal));
  const Words normal = shifted + bias_difference;
  const Words finite = magnitude < 1 << Shape::mantissa ? subnormal : normal;
  Words special = Words{} + 0x7fc00000;
  if constexpr (Shape::mantissa == 2) special = magnitude == 0x7c ? Words{} + 0x7f800000 : special;
  const Words value = magnitude > Shape::largest ? special : finite;
  return __builtin_bit_cast(Floats, value | (bits & 0x80) << 24);
}

[[gnu::always_inline]] constexpr float to_float(Float8E4M3 value) {
  return float8_values<Float8E4M3, float>(int32_t{value.bits});
}
[[gnu::always_inline]] constexpr float to_float(Float8E5M2 value) {
  return float8_values<Float8E5M2, float>(int32_t{value.bits});
}
[[gnu::always_inline]] constexpr void from_float(float value, Float8E4M3& into) {
  into.bits = static_cast<uint8_t>(float8_bits<Float8E4M3, int32_t>(value));
}
[[gnu::always_inline]] constexpr void from_float(float value, Float8E5M2& into) {
  into.bits = static_cast<uint8_t>(float8_bits<Float8E5M2, int32_t>(value));
}

}  // namespace dt
