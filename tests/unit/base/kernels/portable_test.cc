#include "base/kernels/float8.h"
#include "base/kernels/half.h"
#include "tests/unit/base/kernels/kernel_arrays.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <type_traits>

namespace dt {
namespace {

template <class T>
constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16> ||
                         std::is_same_v<T, Float8E4M3> || std::is_same_v<T, Float8E5M2>;

template <class T>
T quiet(T nan) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int quiet_bit = sizeof(T) == 4 ? 22 : 51;
  return std::bit_cast<T>(std::bit_cast<Bits>(nan) | Bits{1} << quiet_bit);
}

/// One step as the class comment of Reducer has it, with a branch for each rule.
template <class T>
T step(ReduceOp op, T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return op == ReduceOp::sum || op == ReduceOp::max ? a || b : a && b;
  } else if constexpr (std::is_integral_v<T>) {
    const auto wide_a = static_cast<uint64_t>(a);
    const auto wide_b = static_cast<uint64_t>(b);
    if (op == ReduceOp::min) return a < b ? a : b;
    if (op == ReduceOp::max) return a < b ? b : a;
    return static_cast<T>(op == ReduceOp::product ? wide_a * wide_b : wide_a + wide_b);
  } else {
    if (std::isnan(a)) return quiet(a);
    if (std::isnan(b)) return quiet(b);
    if (op == ReduceOp::product) return a * b;
    if (op != ReduceOp::min && op != ReduceOp::max) return a + b;
    const bool left_is_less = a < b || (a == b && std::signbit(a));
    return left_is_less == (op == ReduceOp::min) ? a : b;
  }
}

template <class T>
T quotient(T value, int divisor) {
  if constexpr (std::is_floating_point_v<T>) {
    return value / static_cast<T>(divisor);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(int64_t{value} / divisor);
  } else {
    return static_cast<T>(uint64_t{value} / static_cast<uint64_t>(divisor));
  }
}

/// An element as it is computed.
template <class T>
auto value_at(const ElementArray& array, size_t index) {
  const uint64_t bits = array.get(index);
  if constexpr (is_half<T>) {
    return to_float(T{static_cast<decltype(T::bits)>(bits)});
  } else if constexpr (std::is_same_v<T, bool>) {
    return bits != 0;
  } else {
    T element{};
    std::memcpy(&element, &bits, sizeof element);
    return element;
  }
}

template <class T, class Value>
uint64_t bits_of(Value value) {
  T element{};
  if constexpr (is_half<T>) {
    from_float(value, element);
  } else {
    element = value;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, &element, sizeof element);
  return bits;
}

template <class T>
void check_pair(const ElementFormat& format, ReduceOp op, size_t count) {
  std::mt19937_64 random(count);
  ElementArray a(format, count, 1);
  ElementArray b(format, count, 0);
  ElementArray into(format, count, 3);
  a.fill(random);
  b.fill(random);
  Reducer(format.type, op, portable_kernels).combine({into.at()}, a.at(), b.at(), count);
  for (size_t i = 0; i < count; ++i)
    REQUIRE(into.get(i) == bits_of<T>(step(op, value_at<T>(a, i), value_at<T>(b, i))));
}

template <class T>
void check_many(const ElementFormat& format, ReduceOp op, size_t count) {
  std::mt19937_64 random(count);
  std::vector<ElementArray> arrays(4, ElementArray(format, count, 0));
  std::vector<const std::byte*> sources;
  for (ElementArray& array : arrays) {
    array.fill(random);
    sources.push_back(array.at());
  }
  constexpr int divisor = 130;
  ElementArray into(format, count, 0);
  Reducer(format.type, op, portable_kernels).reduce_many({into.at()}, sources, count, divisor);
  for (size_t i = 0; i < count; ++i) {
    auto value = value_at<T>(arrays[0], i);
    for (size_t s = 1; s < arrays.size(); ++s)
      value = step(op, value, value_at<T>(arrays[s], i));
    if (op == ReduceOp::average) value = quotient(value, divisor);
    REQUIRE(into.get(i) == bits_of<T>(value));
  }
}

template <class T>
void check_divide(const ElementFormat& format, size_t count) {
  std::mt19937_64 random(count);
  ElementArray elements(format, count, 0);
  elements.fill(random);
  const ElementArray before = elements;
  for (const int divisor : {3, 1000}) {
    elements = before;
    divide(portable_kernels, format.type, elements.at(), count, divisor);
    for (size_t i = 0; i < count; ++i)
      REQUIRE(elements.get(i) == bits_of<T>(quotient(value_at<T>(before, i), divisor)));
  }
}

template <class T>
void check_type(ElementType type) {
  const ElementFormat& format = all_formats[static_cast<size_t>(type)];
  REQUIRE(format.type == type);
  REQUIRE(format.bytes == sizeof(T));
  CAPTURE(static_cast<int>(type));
  for (const ReduceOp op : operations_of(format)) {
    CAPTURE(static_cast<int>(op));
    for (const size_t count : {0, 1, 2, 19, 20'000}) {
      check_pair<T>(format, op, count);
      check_many<T>(format, op, count);
    }
  }
  if constexpr (!std::is_same_v<T, bool>) check_divide<T>(format, 3000);
}

TEST_CASE("the portable kernels obey the rules of Reducer for every type and operation") {
  check_type<int8_t>(ElementType::int8);
  check_type<uint8_t>(ElementType::uint8);
  check_type<int32_t>(ElementType::int32);
  check_type<uint32_t>(ElementType::uint32);
  check_type<int64_t>(ElementType::int64);
  check_type<uint64_t>(ElementType::uint64);
  check_type<Float16>(ElementType::float16);
  check_type<BFloat16>(ElementType::bfloat16);
  check_type<float>(ElementType::float32);
  check_type<double>(ElementType::float64);
  check_type<int16_t>(ElementType::int16);
  check_type<uint16_t>(ElementType::uint16);
  check_type<bool>(ElementType::boolean);
  check_type<Float8E4M3>(ElementType::float8_e4m3);
  check_type<Float8E5M2>(ElementType::float8_e5m2);
}

template <class T>
void check_all_pairs(ElementType type) {
  constexpr size_t count = 65536;
  const ElementFormat& format = all_formats[static_cast<size_t>(type)];
  ElementArray a(format, count, 0);
  ElementArray b(format, count, 0);
  for (size_t i = 0; i < count; ++i) {
    a.set(i, i / 256);
    b.set(i, i);
  }
  for (const ReduceOp op : operations_of(format)) {
    CAPTURE(static_cast<int>(op));
    ElementArray into(format, count, 0);
    Reducer(type, op, portable_kernels).combine({into.at()}, a.at(), b.at(), count);
    for (size_t i = 0; i < count; ++i)
      REQUIRE(into.get(i) == bits_of<T>(step(op, value_at<T>(a, i), value_at<T>(b, i))));
  }
}

TEST_CASE("the portable kernels obey them for every pair of 8-bit floats") {
  check_all_pairs<Float8E4M3>(ElementType::float8_e4m3);
  check_all_pairs<Float8E5M2>(ElementType::float8_e5m2);
}

}  // namespace
}  // namespace dt
