#include "base/kernels/reducer.h"

#include "base/kernels/half.h"
#include "tests/unit/base/kernels/kernel_arrays.h"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cfenv>
#include <limits>

namespace dt {
namespace {

template <class T>
std::byte* bytes_of(T* values) {
  return reinterpret_cast<std::byte*>(values);
}
template <class T>
const std::byte* bytes_of(const T* values) {
  return reinterpret_cast<const std::byte*>(values);
}

uint32_t combined(ReduceOp op, uint32_t a, uint32_t b) {
  Reducer(ElementType::float32, op).reduce(bytes_of(&a), bytes_of(&b), 1);
  return a;
}

TEST_CASE("the first NaN wins, and becomes quiet") {
  constexpr uint32_t one = 0x3f800000;
  for (const ReduceOp op : all_operations) {
    CHECK(combined(op, 0x7f800001, 0xffc00002) == 0x7fc00001);
    CHECK(combined(op, 0xff812345, one) == 0xffc12345);
    CHECK(combined(op, one, 0x7f800003) == 0x7fc00003);
  }
}

template <class Bits>
Bits combined_by(const KernelSet& set, ElementType type, ReduceOp op, std::array<Bits, 2> pair) {
  // As many as need every width of register.
  constexpr size_t count = 131;
  std::vector<Bits> a(count, pair[0]);
  const std::vector<Bits> b(count, pair[1]);
  Reducer(type, op, set).reduce(bytes_of(a.data()), bytes_of(b.data()), count);
  for (const Bits result : a)
    REQUIRE(result == a[0]);
  return a[0];
}

TEST_CASE("NaN passes through minimum and maximum of every type, whichever operand it is") {
  for (const KernelSet* set : usable_kernels()) {
    CAPTURE(set->name);
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
      using Half = std::array<uint16_t, 2>;
      CHECK(combined_by(*set, ElementType::float16, op, Half{0x3c00, 0x7e01}) == 0x7e01);
      CHECK(combined_by(*set, ElementType::float16, op, Half{0xfe02, 0xfc00}) == 0xfe02);
      CHECK(combined_by(*set, ElementType::bfloat16, op, Half{0x3f80, 0x7fc1}) == 0x7fc1);
      CHECK(combined_by(*set, ElementType::bfloat16, op, Half{0xffc2, 0x7fc1}) == 0xffc2);
      using Single = std::array<uint32_t, 2>;
      CHECK(combined_by(*set, ElementType::float32, op, Single{0x7f800000, 0x7fc00001}) ==
            0x7fc00001);
      CHECK(combined_by(*set, ElementType::float32, op, Single{0xffc00002, 0x7fc00001}) ==
            0xffc00002);
      using Wide = std::array<uint64_t, 2>;
      CHECK(combined_by(*set, ElementType::float64, op,
                        Wide{0x3ff0000000000000, 0x7ff8000000000001}) == 0x7ff8000000000001);
      CHECK(combined_by(*set, ElementType::float64, op,
                        Wide{0xfff8000000000002, 0x7ff8000000000001}) == 0xfff8000000000002);
    }
  }
}

TEST_CASE("the negative zero is less than the positive one") {
  constexpr uint32_t negative = 0x80000000;
  CHECK(combined(ReduceOp::min, 0, negative) == negative);
  CHECK(combined(ReduceOp::min, negative, 0) == negative);
  CHECK(combined(ReduceOp::max, 0, negative) == 0);
  CHECK(combined(ReduceOp::max, negative, 0) == 0);
  CHECK(combined(ReduceOp::max, negative, negative) == negative);
  CHECK(combined(ReduceOp::min, 0, 0) == 0);
}

TEST_CASE("16-bit floats of many sources are rounded once") {
  // 2048 + 1 is no float16: a rounding after each step would stay at 2048.
  const std::vector<Float16> large(20, Float16{0x6800});
  const std::vector<Float16> one(20, Float16{0x3c00});
  const std::vector<const std::byte*> sources = {bytes_of(large.data()), bytes_of(one.data()),
                                                 bytes_of(one.data())};
  for (const KernelSet* set : usable_kernels()) {
    CAPTURE(set->name);
    std::vector<Float16> into(20);
    const Reducer sum(ElementType::float16, ReduceOp::sum, *set);
    sum.reduce_many({bytes_of(into.data())}, sources, into.size());
    for (const Float16 result : into)
      CHECK(to_float(result) == 2050.0F);
    const Reducer average(ElementType::float16, ReduceOp::average, *set);
    average.reduce_many({bytes_of(into.data())}, sources, into.size(), 4);
    for (const Float16 result : into)
      CHECK(to_float(result) == 512.5F);
  }
}

TEST_CASE("8-bit floats of many sources are rounded once") {
  // 16 + 1 is no E4M3: a rounding after each step would stay at 16.
  const std::vector<uint8_t> large(40, 0x58);
  const std::vector<uint8_t> one(40, 0x38);
  const std::vector<const std::byte*> sources = {bytes_of(large.data()), bytes_of(one.data()),
                                                 bytes_of(one.data())};
  for (const KernelSet* set : usable_kernels()) {
    CAPTURE(set->name);
    std::vector<uint8_t> into(40);
    Reducer(ElementType::float8_e4m3, ReduceOp::sum, *set)
        .reduce_many({bytes_of(into.data())}, sources, into.size());
    CHECK(into == std::vector<uint8_t>(40, 0x59));  // 18
    Reducer(ElementType::float8_e4m3, ReduceOp::average, *set)
        .reduce_many({bytes_of(into.data())}, sources, into.size(), 4);
    CHECK(into == std::vector<uint8_t>(40, 0x49));  // 4.5
  }
}

TEST_CASE("an 8-bit float that is too large, or infinite, becomes the largest number") {
  using Pair = std::array<uint8_t, 2>;
  for (const KernelSet* set : usable_kernels()) {
    CAPTURE(set->name);
    const auto e4m3 = [set](ReduceOp op, Pair pair) {
      return combined_by(*set, ElementType::float8_e4m3, op, pair);
    };
    const auto e5m2 = [set](ReduceOp op, Pair pair) {
      return combined_by(*set, ElementType::float8_e5m2, op, pair);
    };
    CHECK(e4m3(ReduceOp::sum, {0x7e, 0x7e}) == 0x7e);
    CHECK(e4m3(ReduceOp::product, {0xfe, 0x7e}) == 0xfe);
    CHECK(e4m3(ReduceOp::max, {0x7f, 0x7e}) == 0x7f);
    CHECK(e4m3(ReduceOp::min, {0x38, 0xff}) == 0xff);
    CHECK(e5m2(ReduceOp::sum, {0x7b, 0x7b}) == 0x7b);
    CHECK(e5m2(ReduceOp::sum, {0x7c, 0x3c}) == 0x7b);
    CHECK(e5m2(ReduceOp::min, {0xfc, 0x3c}) == 0xfb);
    CHECK((e5m2(ReduceOp::sum, {0x7c, 0xfc}) & 0x7f) == 0x7f);  // a new NaN
    CHECK(e5m2(ReduceOp::max, {0xfd, 0x3c}) == 0xff);
  }
}

TEST_CASE("averages of integers wrap in their type, and are divided toward zero") {
  const int8_t a[] = {-7, 100, -128, 7};
  const int8_t b[] = {0, 100, -128, 0};
  const std::byte* const sources[] = {bytes_of(a), bytes_of(b)};
  int8_t into[4];
  Reducer(ElementType::int8, ReduceOp::average).reduce_many({bytes_of(into)}, sources, 4, 2);
  CHECK(into[0] == -3);
  CHECK(into[1] == -28);
  CHECK(into[2] == 0);
  CHECK(into[3] == 3);
  const uint64_t large[] = {std::numeric_limits<uint64_t>::max()};
  const std::byte* const one[] = {bytes_of(large)};
  uint64_t half = 0;
  Reducer(ElementType::uint64, ReduceOp::average).reduce_many({bytes_of(&half)}, one, 1, 2);
  CHECK(half == std::numeric_limits<uint64_t>::max() / 2);
}

TEST_CASE("one source alone stays as it is") {
  const uint32_t signalling[] = {0x7f800001, 0x80000000, 1};
  const std::byte* const sources[] = {bytes_of(signalling)};
  uint32_t into[3];
  Reducer(ElementType::float32, ReduceOp::max).reduce_many({bytes_of(into)}, sources, 3);
  CHECK(std::memcmp(into, signalling, sizeof into) == 0);
  const uint8_t infinite[] = {0x7c, 0xfc, 0x3c, 0x80, 0x01};
  const std::byte* const small_sources[] = {bytes_of(infinite)};
  uint8_t small[5];
  Reducer(ElementType::float8_e5m2, ReduceOp::max).reduce_many({bytes_of(small)}, small_sources, 5);
  CHECK(std::memcmp(small, infinite, sizeof small) == 0);
}

TEST_CASE("a program's direction of rounding changes no result, and is restored") {
  const float one = 1;
  const float tiny = 1e-9F;
  for (const int direction : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    for (const KernelSet* set : usable_kernels()) {
      CAPTURE(set->name);
      REQUIRE(std::fesetround(direction) == 0);
      float up = one;
      float down = one;
      float third = one;
      const float negative = -tiny;
      const Reducer sum(ElementType::float32, ReduceOp::sum, *set);
      sum.reduce(bytes_of(&up), bytes_of(&tiny), 1);
      sum.reduce(bytes_of(&down), bytes_of(&negative), 1);
      divide(*set, ElementType::float32, bytes_of(&third), 1, 3);
      const int after = std::fegetround();
      std::fesetround(FE_TONEAREST);
      CHECK(after == direction);
      CHECK(std::bit_cast<uint32_t>(up) == 0x3f800000);
      CHECK(std::bit_cast<uint32_t>(down) == 0x3f800000);
      CHECK(std::bit_cast<uint32_t>(third) == 0x3eaaaaab);
    }
  }
}

TEST_CASE("no exception flag of a reduction reaches the program") {
  std::feclearexcept(FE_ALL_EXCEPT);
  float value = 3e38F;
  const float other = 3e38F;
  Reducer(ElementType::float32, ReduceOp::sum).reduce(bytes_of(&value), bytes_of(&other), 1);
  CHECK(std::fetestexcept(FE_ALL_EXCEPT) == 0);
  std::feraiseexcept(FE_DIVBYZERO);
  Reducer(ElementType::float32, ReduceOp::sum).reduce(bytes_of(&value), bytes_of(&other), 1);
  CHECK(std::fetestexcept(FE_ALL_EXCEPT) == FE_DIVBYZERO);
  std::feclearexcept(FE_ALL_EXCEPT);
}

}  // namespace
}  // namespace dt
