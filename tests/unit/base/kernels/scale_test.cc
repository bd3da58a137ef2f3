#include "base/kernels/scale.h"

#include "base/kernels/float8.h"
#include "base/kernels/half.h"
#include "tests/unit/base/kernels/kernel_arrays.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <type_traits>

namespace dt {
namespace {

constexpr double factors[] = {2, -0.5, 1.0 / 3, 1e10, 0x1p-140};

template <class T>
T product(T value, double factor) {
  if constexpr (std::is_floating_point_v<T>) {
    return value * static_cast<T>(factor);
  } else {
    const double whole = std::trunc(static_cast<double>(value) * factor);
    using Limits = std::numeric_limits<T>;
    if (whole <= static_cast<double>(Limits::lowest())) return Limits::lowest();
    if (whole >= static_cast<double>(Limits::max())) return Limits::max();
    return static_cast<T>(whole);
  }
}

/// Scales arrays that need every width of register, in place and to another array.
template <class T>
std::vector<T> scaled(const KernelSet& set, ElementType type, const std::vector<T>& values,
                      double factor) {
  std::vector<T> result(values.size());
  const Scale scale(type, factor, set);
  scale.apply(reinterpret_cast<std::byte*>(result.data()),
              reinterpret_cast<const std::byte*>(values.data()), values.size());
  std::vector<T> in_place = values;
  auto* bytes = reinterpret_cast<std::byte*>(in_place.data());
  scale.apply(bytes, bytes, values.size());
  REQUIRE(std::memcmp(in_place.data(), result.data(), result.size() * sizeof(T)) == 0);
  return result;
}

template <class T>
void check(ElementType type) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0, 1, 7, 100, Limits::lowest(), Limits::max(), Limits::max() / 3};
  while (values.size() < 150)
    values.push_back(static_cast<T>(values[values.size() - 7] / 2 + static_cast<T>(3)));
  CAPTURE(static_cast<int>(type));
  for (const KernelSet* set : usable_kernels()) {
    CAPTURE(set->name);
    for (const double factor : factors) {
      CAPTURE(factor);
      const std::vector<T> found = scaled(*set, type, values, factor);
      for (size_t i = 0; i < values.size(); ++i)
        REQUIRE(found[i] == product(values[i], factor));
    }
  }
}

TEST_CASE("numbers are scaled in their type, and integers truncated and held within theirs") {
  check<int8_t>(ElementType::int8);
  check<uint8_t>(ElementType::uint8);
  check<int16_t>(ElementType::int16);
  check<uint16_t>(ElementType::uint16);
  check<int32_t>(ElementType::int32);
  check<uint32_t>(ElementType::uint32);
  check<int64_t>(ElementType::int64);
  check<uint64_t>(ElementType::uint64);
  check<float>(ElementType::float32);
  check<double>(ElementType::float64);
}

/// Every smaller float is multiplied as a float32, and rounded once.
template <class Half>
void check_half(ElementType type) {
  using Bits = decltype(Half::bits);
  std::vector<Bits> values(65536);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<Bits>(i);
  for (const KernelSet* set : usable_kernels()) {
    CAPTURE(set->name);
    for (const double factor : factors) {
      CAPTURE(factor);
      const std::vector<Bits> found = scaled(*set, type, values, factor);
      for (size_t i = 0; i < values.size(); ++i) {
        Half wanted;
        from_float(to_float(Half{values[i]}) * static_cast<float>(factor), wanted);
        REQUIRE(found[i] == wanted.bits);
      }
    }
  }
}

TEST_CASE("16-bit and 8-bit floats are scaled in float32 by a factor rounded to it") {
  check_half<Float16>(ElementType::float16);
  check_half<BFloat16>(ElementType::bfloat16);
  check_half<Float8E4M3>(ElementType::float8_e4m3);
  check_half<Float8E5M2>(ElementType::float8_e5m2);
}

TEST_CASE("the kernels of this CPU are the ones used") {
  int32_t values[] = {7, -7};
  auto* bytes = reinterpret_cast<std::byte*>(values);
  Scale(ElementType::int32, 0.5).apply(bytes, bytes, 2);
  CHECK(values[0] == 3);
  CHECK(values[1] == -3);
}

}  // namespace
}  // namespace dt
