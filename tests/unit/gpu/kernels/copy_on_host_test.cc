#include "gpu/kernels/copy_on_host.h"

#include "base/kernels/half_cast.h"
#include "base/kernels/scale.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace dt {
namespace {

constexpr size_t count = 65536;

/// All bits of 16, as the upper half of a float32 each, and random bits.
std::vector<float> many_floats() {
  std::mt19937 random(1);
  std::vector<float> values(2 * count);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = static_cast<uint32_t>(i < count ? i << 16 : random());
    std::memcpy(&values[i], &bits, sizeof bits);
  }
  return values;
}

template <class T>
std::byte* bytes_of(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

template <class Bits>
void check_casts(const ElementType half) {
  std::vector<float> values = many_floats();
  std::vector<Bits> expected(values.size());
  std::vector<Bits> halves(values.size());
  const HalfCaster caster(ElementType::float32, half);
  caster.narrow(bytes_of(expected), bytes_of(values), values.size());
  copy_on_host({.from = CopyFormat::float32,
                .to = copy_format(half),
                .pieces = {{bytes_of(values), bytes_of(halves), values.size()}}});
  size_t different = 0;
  for (size_t i = 0; i < values.size(); ++i)
    different += !std::isnan(values[i]) && halves[i] != expected[i];
  CHECK(different == 0);

  std::vector<float> back(values.size());
  std::vector<float> expected_back(values.size());
  caster.widen(bytes_of(expected_back), bytes_of(halves), halves.size());
  copy_on_host({.from = copy_format(half),
                .to = CopyFormat::float32,
                .pieces = {{bytes_of(halves), bytes_of(back), halves.size()}}});
  for (size_t i = 0; i < back.size(); ++i)
    different += !std::isnan(back[i]) && std::memcmp(&back[i], &expected_back[i], 4) != 0;
  CHECK(different == 0);
}

TEST_CASE("a cast to a smaller float has the bits of HalfCaster, and so has the way back") {
  check_casts<uint16_t>(ElementType::float16);
  check_casts<uint16_t>(ElementType::bfloat16);
  check_casts<uint8_t>(ElementType::float8_e4m3);
  check_casts<uint8_t>(ElementType::float8_e5m2);
}

TEST_CASE("a factor has the bits of Scale") {
  for (const ElementType type :
       {ElementType::float16, ElementType::bfloat16, ElementType::float32, ElementType::float64,
        ElementType::float8_e4m3, ElementType::float8_e5m2}) {
    const size_t bytes = element_bytes(type);
    std::vector<float> values = many_floats();
    const size_t elements = values.size() * sizeof(float) / bytes;
    std::vector<float> expected(values.size());
    std::vector<float> scaled(values.size());
    Scale(type, 1.0 / 3).apply(bytes_of(expected), bytes_of(values), elements);
    copy_on_host({.from = copy_format(type),
                  .to = copy_format(type),
                  .factor = 1.0 / 3,
                  .pieces = {{bytes_of(values), bytes_of(scaled), elements}}});
    size_t different = 0;
    for (size_t i = 0; i < elements; ++i) {
      // The bits of a NaN are open. Its result is one, too.
      const std::byte* const a = bytes_of(expected) + i * bytes;
      const std::byte* const b = bytes_of(scaled) + i * bytes;
      different += std::memcmp(a, b, bytes) != 0;
    }
    CHECK(different == 0);
  }
}

TEST_CASE("elements that are moved keep their bits") {
  for (const ElementType type :
       {ElementType::boolean, ElementType::int16, ElementType::uint32, ElementType::int64,
        ElementType::float8_e5m2, ElementType::float16, ElementType::float32}) {
    std::vector<float> values = many_floats();
    std::vector<float> moved(values.size());
    copy_on_host({.from = moved_format(type),
                  .to = moved_format(type),
                  .pieces = {{bytes_of(values), bytes_of(moved),
                              values.size() * sizeof(float) / element_bytes(type)}}});
    CHECK(std::memcmp(values.data(), moved.data(), values.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("a flag that is set leaves the destinations as they were") {
  for (const uint32_t flag : {0U, 1U}) {
    std::vector<float> values = {1, 2, 3};
    std::vector<float> copied(3, -1);
    copy_on_host({.from = CopyFormat::float32,
                  .to = CopyFormat::float32,
                  .pieces = {{bytes_of(values), bytes_of(copied), 3}},
                  .skip = &flag});
    CHECK(copied == (flag == 0 ? values : std::vector<float>(3, -1)));
  }
}

}  // namespace
}  // namespace dt
