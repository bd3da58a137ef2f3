#include "base/kernels/half_cast.h"

#include "base/kernels/float8.h"
#include "base/kernels/half.h"
#include "tests/unit/base/kernels/kernel_arrays.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace dt {
namespace {

template <class T>
std::byte* bytes_of(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

/// float32 of all exponents, around the bits where a 16-bit float rounds.
std::vector<float> rounded_values() {
  std::vector<float> values;
  for (uint32_t upper = 0; upper < 65536; ++upper)
    for (const uint32_t lower : {0x0000U, 0x0001U, 0x1000U, 0x7fffU, 0x8000U, 0x8001U, 0xf000U})
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
  return values;
}

template <class Half>
void check_narrow(ElementType type) {
  std::vector<float> values = rounded_values();
  std::vector<decltype(Half::bits)> found(values.size());
  for (const KernelSet* set : usable_kernels()) {
    CAPTURE(set->name);
    HalfCaster(ElementType::float32, type, *set)
        .narrow(bytes_of(found), bytes_of(values), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      Half wanted;
      from_float(values[i], wanted);
      if (found[i] != wanted.bits) REQUIRE(found[i] == wanted.bits);
    }
  }
}

template <class Half>
void check_widen(ElementType type) {
  using Bits = decltype(Half::bits);
  std::vector<Bits> halves(size_t{1} << (8 * sizeof(Bits)));
  for (size_t i = 0; i < halves.size(); ++i)
    halves[i] = static_cast<Bits>(i);
  std::vector<float> found(halves.size());
  for (const KernelSet* set : usable_kernels()) {
    CAPTURE(set->name);
    HalfCaster(ElementType::float32, type, *set)
        .widen(bytes_of(found), bytes_of(halves), halves.size());
    for (size_t i = 0; i < halves.size(); ++i) {
      const float wanted = to_float(Half{halves[i]});
      const bool same = std::isnan(wanted) ? std::isnan(found[i]) : found[i] == wanted;
      if (!same) REQUIRE(found[i] == wanted);
    }
  }
}

TEST_CASE("float32 is rounded to the 16 bits of half.h, by every set of kernels") {
  check_narrow<Float16>(ElementType::float16);
  check_narrow<BFloat16>(ElementType::bfloat16);
}

TEST_CASE("every 16-bit float has its value as float32") {
  check_widen<Float16>(ElementType::float16);
  check_widen<BFloat16>(ElementType::bfloat16);
}

TEST_CASE("8-bit floats are converted as by float8.h, by every set of kernels") {
  check_narrow<Float8E4M3>(ElementType::float8_e4m3);
  check_narrow<Float8E5M2>(ElementType::float8_e5m2);
  check_widen<Float8E4M3>(ElementType::float8_e4m3);
  check_widen<Float8E5M2>(ElementType::float8_e5m2);
}

/// Converts counts of elements to the last one, and checks those behind them.
template <class Bits>
void check_counts(const KernelSet& set, ElementType type) {
  const HalfCaster caster(ElementType::float32, type, set);
  for (size_t count = 0; count < 140; ++count) {
    std::vector<float> values(count, 3);
    std::vector<Bits> halves(count + 1, 0x12);
    caster.narrow(bytes_of(halves), bytes_of(values), count);
    REQUIRE(halves[count] == 0x12);
    std::vector<float> back(count + 1, -1);
    caster.widen(bytes_of(back), bytes_of(halves), count);
    values.push_back(-1);
    REQUIRE(back == values);
  }
}

TEST_CASE("every count is converted to its end, and no further") {
  for (const KernelSet* set : usable_kernels()) {
    check_counts<uint16_t>(*set, ElementType::float16);
    check_counts<uint16_t>(*set, ElementType::bfloat16);
    check_counts<uint8_t>(*set, ElementType::float8_e4m3);
    check_counts<uint8_t>(*set, ElementType::float8_e5m2);
  }
}

TEST_CASE("float64 is rounded to float32 first") {
  std::vector<double> values = {0, 1.0 / 3, -2.5, 1e300, std::nan(""), 1e-300};
  values.resize(3000, 0.1);
  std::vector<uint16_t> halves(values.size());
  std::vector<double> back(values.size());
  const HalfCaster caster(ElementType::float64, ElementType::bfloat16);
  caster.narrow(bytes_of(halves), bytes_of(values), values.size());
  caster.widen(bytes_of(back), bytes_of(halves), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    BFloat16 wanted;
    from_float(static_cast<float>(values[i]), wanted);
    REQUIRE(halves[i] == wanted.bits);
    if (!std::isnan(values[i])) REQUIRE(back[i] == static_cast<double>(to_float(wanted)));
  }
  CHECK(std::isinf(back[3]));
  CHECK(std::isnan(back[4]));
  const HalfCaster to_float8(ElementType::float64, ElementType::float8_e5m2);
  std::vector<uint8_t> small(values.size());
  to_float8.narrow(bytes_of(small), bytes_of(values), values.size());
  to_float8.widen(bytes_of(back), bytes_of(small), values.size());
  CHECK(back[2] == -2.5);
  CHECK(back[3] == 57344);
  CHECK(std::isnan(back[4]));
  CHECK(back[2999] == 0.09375);
}

}  // namespace
}  // namespace dt
