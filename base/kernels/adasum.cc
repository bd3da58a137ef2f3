#include "base/kernels/adasum.h"

#include "base/kernels/cpu.h"
#include "base/kernels/float8.h"
#include "base/kernels/half.h"

#include <array>
#include <cassert>
#include <cstring>

namespace dt {

namespace {

template <class T>
double load(const std::byte* elements, size_t i) {
  T value;
  std::memcpy(&value, elements + i * sizeof value, sizeof value);
  if constexpr (sizeof(T) <= sizeof(uint16_t)) {
    return static_cast<double>(to_float(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
void store(std::byte* elements, size_t i, double value) {
  T rounded;
  if constexpr (sizeof(T) <= sizeof(uint16_t)) {
    from_float(static_cast<float>(value), rounded);
  } else {
    rounded = static_cast<T>(value);
  }
  std::memcpy(elements + i * sizeof rounded, &rounded, sizeof rounded);
}

struct Products {
  double aa = 0;
  double bb = 0;
  double ab = 0;
};

/// Several sums at once, which do not wait for each other.
constexpr size_t lanes = 4;

template <class T>
Products products(const std::byte* a, const std::byte* b, size_t count) {
  std::array<Products, lanes> sums;
  for (size_t i = 0; i < count; ++i) {
    Products& sum = sums[i % lanes];
    const double x = load<T>(a, i);
    const double y = load<T>(b, i);
    sum.aa += x * x;
    sum.bb += y * y;
    sum.ab += x * y;
  }
  Products all;
  for (const Products& sum : sums) {
    all.aa += sum.aa;
    all.bb += sum.bb;
    all.ab += sum.ab;
  }
  return all;
}

/// The factor of an array; 1 for one of zeros.
double factor(double product, double square) {
  return square == 0 ? 1 : 1 - product / (2 * square);
}

template <class T>
void add(std::byte* into, const std::byte* a, const std::byte* b, size_t count) {
  const Products found = products<T>(a, b, count);
  const double of_a = factor(found.ab, found.aa);
  const double of_b = factor(found.ab, found.bb);
  for (size_t i = 0; i < count; ++i)
    store<T>(into, i, of_a * load<T>(a, i) + of_b * load<T>(b, i));
}

}  // namespace

void adasum(ElementType type, std::byte* into, const std::byte* a, const std::byte* b,
            size_t count) {
  const DefaultRounding rounding;
  switch (type) {
    case ElementType::float16:
      return add<Float16>(into, a, b, count);
    case ElementType::bfloat16:
      return add<BFloat16>(into, a, b, count);
    case ElementType::float32:
      return add<float>(into, a, b, count);
    case ElementType::float64:
      return add<double>(into, a, b, count);
    case ElementType::float8_e4m3:
      return add<Float8E4M3>(into, a, b, count);
    case ElementType::float8_e5m2:
      return add<Float8E5M2>(into, a, b, count);
    default:
      assert(false);  // only floats have one
  }
}

}  // namespace dt
