#include "base/kernels/float8.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace dt {
namespace {

/// A format by its definition: value = (1 + mantissa / 2^m) * 2^(exponent - bias).
template <class Float8>
struct Definition {
  static constexpr int m = Float8Shape<Float8>::mantissa;
  static constexpr int bias = Float8Shape<Float8>::bias;
  static constexpr unsigned largest = m == 3 ? 0x7e : 0x7b;
  static constexpr unsigned infinity = m == 3 ? 0x100 : 0x7c;  // E4M3 has none

  static float value(unsigned bits) {
    const unsigned magnitude = bits & 0x7fU;
    const float sign = bits >= 0x80 ? -1.0F : 1.0F;
    if (magnitude == infinity) return sign * std::numeric_limits<float>::infinity();
    if (magnitude > largest) return std::numeric_limits<float>::quiet_NaN();
    const int exponent = static_cast<int>(magnitude) >> m;
    const auto fraction = static_cast<float>(magnitude & ((1U << m) - 1U));
    const float scale = std::ldexp(1.0F, -m);
    if (exponent == 0) return sign * std::ldexp(fraction * scale, 1 - bias);
    return sign * std::ldexp(1.0F + fraction * scale, exponent - bias);
  }
  /// Searches the nearest number; of two equally near ones, that with an even mantissa.
  static unsigned nearest(float wanted) {
    const unsigned sign = std::signbit(wanted) ? 0x80 : 0;
    // The differences of much larger numbers would be rounded.
    const double magnitude = std::min(std::fabs(static_cast<double>(wanted)), 1e6);
    unsigned best = 0;
    for (unsigned bits = 1; bits <= largest; ++bits) {
      const double here = std::fabs(magnitude - static_cast<double>(value(bits)));
      const double there = std::fabs(magnitude - static_cast<double>(value(best)));
      if (here < there || (here == there && bits % 2 == 0)) best = bits;
    }
    return sign | best;
  }
};

template <class Float8>
unsigned bits_of(float value) {
  Float8 rounded;
  from_float(value, rounded);
  return rounded.bits;
}

/// All values of 16 bits, and the numbers between two neighbours of the format with their own
/// neighbours.
template <class Float8>
std::vector<float> inputs() {
  std::vector<float> values;
  for (uint32_t upper = 0; upper < 65536; ++upper)
    values.push_back(std::bit_cast<float>(upper << 16));
  for (unsigned bits = 0; bits < Definition<Float8>::largest; ++bits) {
    const float middle =
        (Definition<Float8>::value(bits) + Definition<Float8>::value(bits + 1)) / 2;
    for (const float value : {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  return values;
}

TEST_CASE_TEMPLATE("every 8-bit float has the value of its definition", Float8, Float8E4M3,
                   Float8E5M2) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    CAPTURE(bits);
    const float expected = Definition<Float8>::value(bits);
    const float value = to_float(Float8{static_cast<uint8_t>(bits)});
    CHECK(std::isnan(value) == std::isnan(expected));
    if (!std::isnan(expected))
      CHECK(std::bit_cast<uint32_t>(value) == std::bit_cast<uint32_t>(expected));
  }
}

TEST_CASE_TEMPLATE("floats are rounded to the nearest even, and too large ones to the largest",
                   Float8, Float8E4M3, Float8E5M2) {
  size_t wrong = 0;
  for (const float value : inputs<Float8>()) {
    const unsigned bits = bits_of<Float8>(value);
    if (std::isnan(value)) {
      wrong += (bits & 0x7fU) == 0x7f ? 0 : 1;
    } else if (std::isinf(value)) {
      wrong += (bits & 0x7fU) == Definition<Float8>::largest ? 0 : 1;
    } else {
      wrong += bits == Definition<Float8>::nearest(value) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("every finite 8-bit float survives the way to float32 and back", Float8,
                   Float8E4M3, Float8E5M2) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    if ((bits & 0x7fU) > Definition<Float8>::largest) continue;
    CHECK(bits_of<Float8>(to_float(Float8{static_cast<uint8_t>(bits)})) == bits);
  }
}

/// A number and the bits that it gets.
struct Special {
  float value;
  unsigned bits;

  template <class Float8>
  void check() const {
    CAPTURE(value);
    CHECK(bits_of<Float8>(value) == bits);
  }
};

TEST_CASE("the largest, smallest and special numbers of E4M3") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const Special specials[] = {
      {0, 0},           {-0.0F, 0x80},   {1, 0x38},         {448, 0x7e},       {464, 0x7e},
      {480, 0x7e},      {1e30F, 0x7e},   {infinity, 0x7e},  {-480, 0xfe},      {-infinity, 0xfe},
      {nan, 0x7f},      {-nan, 0xff},    {0x1p-6F, 0x08},   {0x1p-9F, 0x01},   {0x1p-10F, 0x00},
      {0x3p-10F, 0x02}, {0x7p-9F, 0x07}, {0x1p-130F, 0x00}, {0x1p-149F, 0x00}, {-0x1p-10F, 0x80},
      {0x15p-10F, 0x0a}};
  for (const Special& special : specials)
    special.check<Float8E4M3>();
  CHECK(to_float(Float8E4M3{0x7e}) == 448);
  CHECK(to_float(Float8E4M3{0x78}) == 256);  // a format with infinities would have one there
  CHECK(std::isnan(to_float(Float8E4M3{0xff})));
}

TEST_CASE("the largest, smallest and special numbers of E5M2") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const Special specials[] = {
      {1, 0x3c},         {57344, 0x7b},    {61440, 0x7b},     {1e30F, 0x7b},    {infinity, 0x7b},
      {-infinity, 0xfb}, {nan, 0x7f},      {-nan, 0xff},      {0x1p-14F, 0x04}, {0x1p-16F, 0x01},
      {0x1p-17F, 0x00},  {0x3p-17F, 0x02}, {-0x3p-16F, 0x83}, {1.125F, 0x3c},   {1.375F, 0x3e}};
  for (const Special& special : specials)
    special.check<Float8E5M2>();
  CHECK(to_float(Float8E5M2{0x7b}) == 57344);
  CHECK(to_float(Float8E5M2{0xfc}) == -infinity);
  for (const unsigned bits : {0x7dU, 0x7eU, 0x7fU, 0xfdU})
    CHECK(std::isnan(to_float(Float8E5M2{static_cast<uint8_t>(bits)})));
}

}  // namespace
}  // namespace dt
