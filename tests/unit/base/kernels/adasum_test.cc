#include "base/kernels/adasum.h"

#include "base/kernels/float8.h"
#include "base/kernels/half.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace dt {
namespace {

template <class T>
const std::byte* bytes_of(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}
template <class T>
std::byte* bytes_of(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

using Floats = std::vector<float>;

Floats added(const Floats& a, const Floats& b) {
  Floats sum(a.size());
  adasum(ElementType::float32, bytes_of(sum), bytes_of(a), bytes_of(b), a.size());
  return sum;
}

TEST_CASE("inputs at right angles are added, and equal ones averaged") {
  CHECK(added({3, 0, 0}, {0, 4, 1}) == Floats{3, 4, 1});
  CHECK(added({2, -4, 6}, {2, -4, 6}) == Floats{2, -4, 6});
  CHECK(added({2, 2}, {4, 4}) == Floats{3, 3});    // (1 - 16/16) * 2 + (1 - 16/64) * 4
  CHECK(added({1, 1}, {-1, -1}) == Floats{0, 0});  // 1.5 of each
}

TEST_CASE("an input of zeros changes nothing") {
  CHECK(added({0, 0}, {5, -7}) == Floats{5, -7});
  CHECK(added({5, -7}, {0, 0}) == Floats{5, -7});
  CHECK(added({0, -0.0F}, {0, 0}) == Floats{0, 0});
  CHECK(added({}, {}).empty());
}

TEST_CASE("the result may replace either input") {
  const Floats a = {1, 2, 3, 4, 5};
  const Floats b = {2, 0, 1, -1, 3};
  const Floats wanted = added(a, b);
  Floats first = a;
  adasum(ElementType::float32, bytes_of(first), bytes_of(first), bytes_of(b), 5);
  CHECK(first == wanted);
  Floats second = b;
  adasum(ElementType::float32, bytes_of(second), bytes_of(a), bytes_of(second), 5);
  CHECK(second == wanted);
}

TEST_CASE("products are made in float64") {
  // In float32, the squares would be infinite, and small parts lost.
  const Floats huge(1000, 1e25F);
  CHECK(added(huge, huge) == huge);
  std::vector<double> wide = {1e-200, 3};
  const std::vector<double> other = {0, 1e100};
  adasum(ElementType::float64, bytes_of(wide), bytes_of(wide), bytes_of(other), 2);
  CHECK(std::isfinite(wide[1]));
}

TEST_CASE("16-bit and 8-bit floats are rounded once") {
  const auto half = [](float value, auto type) {
    from_float(value, type);
    return type;
  };
  std::vector<Float16> a = {half(1, Float16{}), half(0, Float16{})};
  const std::vector<Float16> b = {half(0, Float16{}), half(0.333F, Float16{})};
  adasum(ElementType::float16, bytes_of(a), bytes_of(a), bytes_of(b), 2);
  CHECK(to_float(a[0]) == 1);
  CHECK(a[1].bits == b[1].bits);
  std::vector<BFloat16> c = {half(2, BFloat16{}), half(2, BFloat16{})};
  const std::vector<BFloat16> d = {half(4, BFloat16{}), half(4, BFloat16{})};
  adasum(ElementType::bfloat16, bytes_of(c), bytes_of(c), bytes_of(d), 2);
  CHECK(to_float(c[1]) == 3);
  std::vector<Float8E4M3> e = {half(2, Float8E4M3{}), half(2, Float8E4M3{})};
  const std::vector<Float8E4M3> f = {half(4, Float8E4M3{}), half(4, Float8E4M3{})};
  adasum(ElementType::float8_e4m3, bytes_of(e), bytes_of(e), bytes_of(f), 2);
  CHECK(to_float(e[0]) == 3);
  std::vector<Float8E5M2> g = {half(5, Float8E5M2{}), half(0, Float8E5M2{})};
  const std::vector<Float8E5M2> h = {half(0, Float8E5M2{}), half(-0.375F, Float8E5M2{})};
  adasum(ElementType::float8_e5m2, bytes_of(g), bytes_of(g), bytes_of(h), 2);
  CHECK(to_float(g[0]) == 5);
  CHECK(to_float(g[1]) == -0.375F);
}

TEST_CASE("a NaN stays one") {
  const Floats sum = added({1, std::nanf("")}, {1, 1});
  CHECK(std::isnan(sum[0]));
  CHECK(std::isnan(sum[1]));
}

}  // namespace
}  // namespace dt
