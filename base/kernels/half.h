#pragma once

#include <cstdint>

namespace dt {

/// IEEE 754 binary16, held as its bits.
struct Float16 {
  uint16_t bits = 0;
};

/// The upper half of a binary32, held as its bits.
struct BFloat16 {
  uint16_t bits = 0;
};

// These functions are inlined always, and call no function of the standard library. Files for newer
// instruction sets include them, and must not leave a copy that other files would be linked to.

/// A NaN becomes a quiet one with the same payload, as in the conversion instructions of CPUs.
[[gnu::always_inline]] inline float to_float(Float16 value) {
  const uint32_t sign = (value.bits & 0x8000U) << 16;
  // The exponent bias differs by 112; multiplying also turns subnormals into normal numbers.
  const float scaled = __builtin_bit_cast(float, (value.bits & 0x7fffU) << 13) * 0x1p112F;
  uint32_t bits = __builtin_bit_cast(uint32_t, scaled);
  if (scaled >= 65536.0F) bits |= 0x7f800000U;  // infinity or NaN: both lie past the largest
  if (bits > 0x7f800000U) bits |= 0x00400000U;
  return __builtin_bit_cast(float, bits | sign);
}

[[gnu::always_inline]] inline float to_float(BFloat16 value) {
  return __builtin_bit_cast(float, uint32_t{value.bits} << 16);
}

/// Rounds to nearest even; too large becomes infinity, a NaN stays one.
[[gnu::always_inline]] inline void from_float(float value, Float16& into) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t magnitude = bits & 0x7fffffffU;
  uint32_t half = 0;
  if (magnitude > 0x7f800000U) {
    half = 0x7e00U | ((magnitude >> 13) & 0x1ffU);
  } else if (magnitude >= 0x477ff000U) {  // 65520 and more round past the largest, 65504
    half = 0x7c00U;
  } else if (magnitude < 0x38800000U) {
    // Below 2^-14. The unit in the last place of 0.5F is the smallest binary16: the addition rounds
    // to it.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5F;
    half = __builtin_bit_cast(uint32_t, shifted) - 0x3f000000U;
  } else {
    half = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  }
  into.bits = static_cast<uint16_t>(half | ((bits >> 16) & 0x8000U));
}

[[gnu::always_inline]] inline void from_float(float value, BFloat16& into) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  into.bits = static_cast<uint16_t>(nan ? (bits >> 16) | 0x40U : rounded);
}

}  // namespace dt
