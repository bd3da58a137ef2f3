#pragma once

#include "gpu/kernels/device_code.cuh"

#ifdef __CUDACC__
#include <cuda_fp8.h>
#endif

namespace dt {

/// 8-bit floats of the OCP (OFP8): sign, 4 bits of exponent and 3 of mantissa. No infinity; 0x7f is
/// NaN, and 448 is the largest.
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
  static constexpr uint32_t largest = 0x7e;
};
template <>
struct Float8Shape<Float8E5M2> {
  static constexpr int mantissa = 2;
  static constexpr int bias = 15;
  static constexpr uint32_t largest = 0x7b;
};

DT_BOTH float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
DT_BOTH uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Rounds to nearest even. Too large values and infinities become the largest number, and a NaN
/// stays one.
template <class Float8>
DT_BOTH Float8 float8_from(float value) {
  using Shape = Float8Shape<Float8>;
  constexpr int dropped = 23 - Shape::mantissa;
  constexpr uint32_t smallest_normal = (127U - Shape::bias + 1U) << 23;
  // Its unit in the last place is the smallest Float8, so an addition rounds to that.
  constexpr uint32_t rounder = static_cast<uint32_t>(127 + 1 - Shape::bias - Shape::mantissa + 23)
                               << 23;
  const uint32_t bits = bits_of_float(value);
  const uint32_t magnitude = bits & 0x7fffffffU;
  const uint32_t sign = (bits >> 24) & 0x80U;
  if (magnitude > 0x7f800000U) return {static_cast<uint8_t>(sign | 0x7fU)};
  uint32_t rounded;
  if (magnitude < smallest_normal) {
    rounded = bits_of_float(float_of_bits(magnitude) + float_of_bits(rounder)) - rounder;
  } else {
    const uint32_t odd = (magnitude >> dropped) & 1U;
    rounded =
        (magnitude - ((127U - Shape::bias) << 23) + ((1U << (dropped - 1)) - 1U) + odd) >> dropped;
  }
  if (rounded > Shape::largest) rounded = Shape::largest;
  return {static_cast<uint8_t>(sign | rounded)};
}

template <class Float8>
DT_BOTH float float_from(Float8 value) {
  using Shape = Float8Shape<Float8>;
  const uint32_t magnitude = value.bits & 0x7fU;
  const uint32_t sign = (value.bits & 0x80U) << 24;
  // The multiplication adjusts the bias, and makes subnormal numbers normal.
  const float scaled = float_of_bits(magnitude << (23 - Shape::mantissa)) *
                       float_of_bits(static_cast<uint32_t>(127 + 127 - Shape::bias) << 23);
  uint32_t bits = bits_of_float(scaled);
  if (magnitude > Shape::largest) {
    const bool infinite = Shape::mantissa == 2 && magnitude == 0x7cU;
    bits = infinite ? 0x7f800000U : 0x7fc00000U;
  }
  return float_of_bits(bits | sign);
}

/// As float8_from(), by an instruction where the GPU has one.
DT_BOTH void narrow_to(float value, Float8E4M3& into) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  into.bits = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
#else
  into = float8_from<Float8E4M3>(value);
#endif
}
DT_BOTH void narrow_to(float value, Float8E5M2& into) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  into.bits = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
#else
  into = float8_from<Float8E5M2>(value);
#endif
}
DT_BOTH float widened(Float8E4M3 value) {
  return float_from(value);
}
DT_BOTH float widened(Float8E5M2 value) {
  return float_from(value);
}

}  // namespace dt
