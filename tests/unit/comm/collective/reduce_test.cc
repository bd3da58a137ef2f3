#include "comm/collective/reduce.h"

#include "base/kernels/float8.h"
#include "base/kernels/half.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace dt {
namespace {

constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max,
                                ReduceOp::product};

/// One step of a reduction, written for clarity: integers modulo 2^64, floats in double.
template <class T>
T reference(ReduceOp op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    // Only the lower bits of a negative number matter in the end.
    const auto wide_a = uint64_t{static_cast<std::make_unsigned_t<T>>(a)};
    const auto wide_b = uint64_t{static_cast<std::make_unsigned_t<T>>(b)};
    if (op == ReduceOp::min) return a < b ? a : b;
    if (op == ReduceOp::max) return a < b ? b : a;
    return static_cast<T>(op == ReduceOp::product ? wide_a * wide_b : wide_a + wide_b);
  } else {
    if (op == ReduceOp::min || op == ReduceOp::max) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
      return (op == ReduceOp::min) == (a < b) ? a : b;
    }
    return op == ReduceOp::product ? a * b : a + b;
  }
}

template <class T>
std::vector<T> random_values(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(random());
    } else {
      value = static_cast<T>(static_cast<double>(random() % 20'000) / 100 - 100);
    }
  }
  return values;
}

template <class T>
void check_operation(Reduction reduction, size_t count) {
  std::vector<T> into = random_values<T>(count, 1);
  const std::vector<T> before = into;
  const std::vector<T> from = random_values<T>(count, 2);
  reduction.apply(reinterpret_cast<std::byte*>(into.data()),
                  reinterpret_cast<const std::byte*>(from.data()), count);
  for (size_t i = 0; i < count; ++i)
    REQUIRE(into[i] == reference(reduction.op, before[i], from[i]));
}

template <class T>
void check_type(ElementType type) {
  CAPTURE(element_name(type));
  CHECK(element_bytes(type) == sizeof(T));
  for (const ReduceOp op : all_ops) {
    CAPTURE(reduce_name(op));
    for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{1000}})
      check_operation<T>({type, op}, count);
  }
}

template <class Half>
void check_half(ElementType type) {
  CAPTURE(element_name(type));
  CHECK(element_bytes(type) == sizeof(Half));
  for (const ReduceOp op : all_ops) {
    std::vector<Half> into(500);
    std::vector<Half> from(500);
    const std::vector<float> a = random_values<float>(500, 3);
    const std::vector<float> b = random_values<float>(500, 4);
    std::vector<Half> expected(500);
    for (size_t i = 0; i < a.size(); ++i) {
      from_float(a[i], into[i]);
      from_float(b[i], from[i]);
      from_float(reference(op, to_float(into[i]), to_float(from[i])), expected[i]);
    }
    Reduction{type, op}.apply(reinterpret_cast<std::byte*>(into.data()),
                              reinterpret_cast<const std::byte*>(from.data()), into.size());
    for (size_t i = 0; i < into.size(); ++i)
      REQUIRE(into[i].bits == expected[i].bits);
  }
}

TEST_CASE("each operation on each type equals its scalar reference") {
  check_type<int8_t>(ElementType::int8);
  check_type<uint8_t>(ElementType::uint8);
  check_type<int32_t>(ElementType::int32);
  check_type<uint32_t>(ElementType::uint32);
  check_type<int64_t>(ElementType::int64);
  check_type<uint64_t>(ElementType::uint64);
  check_type<float>(ElementType::float32);
  check_type<double>(ElementType::float64);
  check_half<Float16>(ElementType::float16);
  check_half<BFloat16>(ElementType::bfloat16);
  check_half<Float8E4M3>(ElementType::float8_e4m3);
  check_half<Float8E5M2>(ElementType::float8_e5m2);
}

template <class T>
double combine(ElementType type, ReduceOp op, T a, T b) {
  Reduction{type, op}.apply(reinterpret_cast<std::byte*>(&a), reinterpret_cast<std::byte*>(&b), 1);
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(a);
  } else {
    return static_cast<double>(to_float(a));
  }
}

TEST_CASE("min and max yield NaN where either side is NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    CHECK(std::isnan(combine(ElementType::float32, op, nan, 1.0F)));
    CHECK(std::isnan(combine(ElementType::float32, op, 1.0F, nan)));
    CHECK(std::isnan(combine(ElementType::float64, op, static_cast<double>(nan), 1.0)));
    CHECK(std::isnan(combine(ElementType::float64, op, 1.0, static_cast<double>(nan))));
    CHECK(std::isnan(combine(ElementType::float16, op, Float16{0x7e00}, Float16{0x3c00})));
    CHECK(std::isnan(combine(ElementType::float16, op, Float16{0x3c00}, Float16{0x7c01})));
    CHECK(std::isnan(combine(ElementType::bfloat16, op, BFloat16{0x7fc0}, BFloat16{0x3f80})));
    CHECK(std::isnan(combine(ElementType::bfloat16, op, BFloat16{0x3f80}, BFloat16{0x7f81})));
    CHECK(std::isnan(combine(ElementType::float8_e4m3, op, Float8E4M3{0xff}, Float8E4M3{0x38})));
    CHECK(std::isnan(combine(ElementType::float8_e5m2, op, Float8E5M2{0x3c}, Float8E5M2{0x7d})));
  }
}

/// The value of a binary16 by the definition of the format.
double value_of(Float16 half) {
  const int exponent = (half.bits >> 10) & 31;
  const int fraction = half.bits & 1023;
  const double sign = (half.bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST_CASE("every float16 becomes its float and comes back with the same bits") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 half{static_cast<uint16_t>(bits)};
    const float value = to_float(half);
    Float16 back;
    from_float(value, back);
    if ((bits & 0x7c00) != 0x7c00) {
      REQUIRE(static_cast<double>(value) == value_of(half));
      REQUIRE(back.bits == bits);
    } else if ((bits & 0x3ff) == 0) {
      REQUIRE(std::isinf(value));
      REQUIRE(back.bits == bits);
    } else {
      REQUIRE(std::isnan(value));
      REQUIRE((back.bits & 0x7fff) > 0x7c00);
    }
  }
}

TEST_CASE("a float between two float16 goes to the nearer, or to the even one") {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = to_float(Float16{static_cast<uint16_t>(bits)});
    const float high = to_float(Float16{static_cast<uint16_t>(bits + 1)});
    const float middle = (low + high) / 2;
    Float16 rounded;
    from_float(middle, rounded);
    REQUIRE(rounded.bits == bits + (bits & 1));
    from_float(std::nextafter(middle, 0.0F), rounded);
    REQUIRE(rounded.bits == bits);
    from_float(std::nextafter(middle, 1e9F), rounded);
    REQUIRE(rounded.bits == bits + 1);
  }
  Float16 large;
  from_float(65519.99F, large);
  CHECK(large.bits == 0x7bff);
  from_float(65520.0F, large);
  CHECK(large.bits == 0x7c00);
  from_float(-1e30F, large);
  CHECK(large.bits == 0xfc00);
}

TEST_CASE("a float becomes the nearest bfloat16, or the even one, and NaN stays NaN") {
  struct Case {
    uint32_t bits;
    uint16_t expected;
  };
  const Case cases[] = {{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f808001, 0x3f81},
                        {0x3f818000, 0x3f82}, {0x7f7fffff, 0x7f80}, {0x7f800000, 0x7f80},
                        {0x7f800001, 0x7fc0}, {0xffffffff, 0xffff}, {0x00000001, 0x0000}};
  for (const Case& c : cases) {
    CAPTURE(c.bits);
    BFloat16 rounded;
    from_float(std::bit_cast<float>(c.bits), rounded);
    CHECK(rounded.bits == c.expected);
  }
}

TEST_CASE("average_over divides integers toward zero, also by a divisor that their type lacks") {
  int8_t small[] = {-7, 7, -128, 127};
  average_over(ElementType::int8, reinterpret_cast<std::byte*>(small), 4, 2);
  CHECK(small[0] == -3);
  CHECK(small[1] == 3);
  CHECK(small[2] == -64);
  average_over(ElementType::int8, reinterpret_cast<std::byte*>(small), 4, 200);
  CHECK(small[2] == 0);
  uint8_t bytes[] = {250, 255};
  average_over(ElementType::uint8, reinterpret_cast<std::byte*>(bytes), 2, 250);
  CHECK(bytes[0] == 1);
  int64_t lowest = std::numeric_limits<int64_t>::min();
  average_over(ElementType::int64, reinterpret_cast<std::byte*>(&lowest), 1, 1000);
  CHECK(lowest == std::numeric_limits<int64_t>::min() / 1000);
  uint64_t highest = std::numeric_limits<uint64_t>::max();
  average_over(ElementType::uint64, reinterpret_cast<std::byte*>(&highest), 1, 2);
  CHECK(highest == std::numeric_limits<uint64_t>::max() / 2);
  uint32_t upper = 4'000'000'000U;
  average_over(ElementType::uint32, reinterpret_cast<std::byte*>(&upper), 1, 4);
  CHECK(upper == 1'000'000'000U);
}

TEST_CASE("average_over divides floats of every width") {
  float single[] = {3, 10};
  average_over(ElementType::float32, reinterpret_cast<std::byte*>(single), 2, 4);
  CHECK(single[0] == 0.75F);
  CHECK(single[1] == 2.5F);
  double wide = 1;
  average_over(ElementType::float64, reinterpret_cast<std::byte*>(&wide), 1, 3);
  CHECK(wide == 1.0 / 3);
  Float16 half{0x4200};  // 3
  average_over(ElementType::float16, reinterpret_cast<std::byte*>(&half), 1, 2);
  CHECK(to_float(half) == 1.5F);
  BFloat16 brain{0x4040};  // 3
  average_over(ElementType::bfloat16, reinterpret_cast<std::byte*>(&brain), 1, 2);
  CHECK(to_float(brain) == 1.5F);
  Float8E4M3 tiny{0x44};  // 3
  average_over(ElementType::float8_e4m3, reinterpret_cast<std::byte*>(&tiny), 1, 2);
  CHECK(to_float(tiny) == 1.5F);
}

TEST_CASE("numbers that name no type or operation are not known") {
  int types = 0;
  int reductions = 0;
  for (int number = 0; number < 256; ++number) {
    types += known(static_cast<ElementType>(number)) ? 1 : 0;
    reductions += known(static_cast<ReduceOp>(number)) ? 1 : 0;
  }
  CHECK(types == element_type_count);
  CHECK(reductions == 6);
}

}  // namespace
}  // namespace dt
