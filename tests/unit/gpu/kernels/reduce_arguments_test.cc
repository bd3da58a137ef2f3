#include "gpu/kernels/reduce_arguments.h"

#include "tests/unit/gpu/kernels/emulated_launch.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace dt {
namespace {

constexpr uint64_t threads = 64;

/// True when the element of this type is a NaN.
bool is_nan(ElementType type, const std::byte* element) {
  if (type == ElementType::float64) {
    double value = 0;
    std::memcpy(&value, element, sizeof value);
    return std::isnan(value);
  }
  if (type == ElementType::float32) {
    float value = 0;
    std::memcpy(&value, element, sizeof value);
    return std::isnan(value);
  }
  const auto magnitude = static_cast<uint8_t>(*element & std::byte{0x7f});
  if (type == ElementType::float8_e4m3) return magnitude > 0x7e;
  if (type == ElementType::float8_e5m2) return magnitude > 0x7c;
  uint16_t bits = 0;
  if (type == ElementType::float16 || type == ElementType::bfloat16)
    std::memcpy(&bits, element, sizeof bits);
  return (bits & 0x7fffU) > (type == ElementType::float16 ? 0x7c00U : 0x7f80U);
}

/// Arrays of random bits that begin `shift` elements after an aligned address.
class RandomArrays {
 public:
  RandomArrays(ElementType type, size_t count, size_t arrays, size_t shift = 0)
      : type_(type), count_(count), shift_(shift * element_bytes(type)) {
    std::mt19937_64 random(count * 31 + arrays);
    // A kernel rounds the infinities of one array, which a CPU copies. So such an array has none.
    const bool finite = type == ElementType::float8_e5m2 && arrays == 1;
    const uint64_t mask = finite ? ~uint64_t{0x0404040404040404} : ~uint64_t{0};
    for (size_t i = 0; i < arrays; ++i) {
      auto& words = memory_.emplace_back(shift_ / 8 + count * element_bytes(type) / 8 + 4);
      for (uint64_t& word : words)
        word = random() & mask;
    }
  }
  std::byte* at(size_t array) {
    auto* const first = reinterpret_cast<std::byte*>(memory_[array].data());
    const size_t to_aligned = (16 - reinterpret_cast<uintptr_t>(first) % 16) % 16;
    return first + to_aligned + shift_;
  }
  std::vector<const std::byte*> all() {
    std::vector<const std::byte*> arrays;
    for (size_t i = 0; i < memory_.size(); ++i)
      arrays.push_back(at(i));
    return arrays;
  }
  ElementType type() const { return type_; }
  size_t count() const { return count_; }

 private:
  ElementType type_;
  size_t count_;
  size_t shift_;
  std::vector<std::vector<uint64_t>> memory_ = {};
};

/// True when the elements have the same bits, are two NaN, or are two true bytes.
bool equal(ElementType type, const std::byte* a, const std::byte* b) {
  if (is_nan(type, a) && is_nan(type, b)) return true;
  if (type == ElementType::boolean) return (*a != std::byte{0}) == (*b != std::byte{0});
  return std::memcmp(a, b, element_bytes(type)) == 0;
}

/// Returns how many elements of the kernel's result differ from those of the CPU's kernels. The
/// results begin `shift` elements after an aligned address.
size_t differences(ArrayReduction reduction, size_t shift = 0) {
  const ElementType type = reduction.type;
  RandomArrays results(type, reduction.count, 2, shift);
  reduction.into = results.at(0);
  REQUIRE(check(reduction).has_value());
  reduce_arrays(reduction);
  reduction.into = results.at(1);
  emulate_reduce(reduce_arguments(reduction).value(), type, reduction.op, threads);
  size_t different = 0;
  for (size_t i = 0; i < reduction.count; ++i) {
    const size_t at = i * element_bytes(type);
    if (!equal(type, results.at(0) + at, results.at(1) + at)) ++different;
  }
  return different;
}

bool exists(ElementType type, ReduceOp op) {
  return op != ReduceOp::adasum && !(type == ElementType::boolean && op == ReduceOp::average);
}

template <class Check>
void for_types_and_ops(const Check& check_one) {
  for (size_t type = 0; type < element_type_count; ++type) {
    for (const ReduceOp op :
         {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::product}) {
      const auto element = static_cast<ElementType>(type);
      CAPTURE(type);
      CAPTURE(static_cast<int>(op));
      if (exists(element, op)) check_one(element, op);
    }
  }
}

TEST_CASE("the kernel of each type and operation has the bits of the CPU, at any count") {
  for_types_and_ops([](ElementType type, ReduceOp op) {
    for (const size_t count : {0, 1, 3, 15, 16, 17, 500, 4099}) {
      for (const size_t arrays : {1, 2, 3, 8}) {
        RandomArrays sources(type, count, arrays);
        CHECK(differences({.type = type,
                           .op = op,
                           .count = count,
                           .sources = sources.all(),
                           .divisor = static_cast<int>(arrays)}) == 0);
      }
    }
  });
}

TEST_CASE("the kernel writes all places of the result") {
  for_types_and_ops([](ElementType type, ReduceOp op) {
    for (const size_t shift : {0, 1}) {
      RandomArrays sources(type, 500, 3);
      RandomArrays results(type, 500, 4, shift);
      ArrayReduction reduction = {
          .type = type, .op = op, .count = 500, .sources = sources.all(), .into = results.at(0)};
      reduce_arrays(reduction);
      reduction.into = results.at(1);
      reduction.also = {results.at(2), results.at(3)};
      emulate_reduce(reduce_arguments(reduction).value(), type, op, threads);
      for (size_t i = 0; i < 500 * element_bytes(type); i += element_bytes(type)) {
        for (const size_t place : {1, 2, 3})
          REQUIRE(equal(type, results.at(0) + i, results.at(place) + i));
      }
    }
  });
  std::byte bytes[18] = {};
  ArrayReduction reduction = {.type = ElementType::uint8, .count = 1, .sources = {bytes}};
  reduction.into = bytes + 1;
  for (size_t i = 2; i < 18; ++i)
    reduction.also.push_back(bytes + i);
  const auto refused = reduce_arguments(reduction);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() ==
        Error{Errc::unsupported, "cannot reduce: a kernel writes at most 16 results, not 17"});
}

TEST_CASE("arrays may begin at any element, with or without a common alignment") {
  for_types_and_ops([](ElementType type, ReduceOp op) {
    for (const size_t shift : {1, 2, 3, 5, 9}) {
      RandomArrays shifted(type, 300, 3, shift);
      RandomArrays aligned(type, 300, 1);
      ArrayReduction reduction = {
          .type = type, .op = op, .count = 300, .sources = shifted.all(), .divisor = 7};
      CHECK(differences(reduction) == 0);
      CHECK(differences(reduction, shift) == 0);
      reduction.sources.push_back(aligned.at(0));
      CHECK(differences(reduction) == 0);
    }
  });
}

TEST_CASE("halves are folded apart, and then combined") {
  for_types_and_ops([](ElementType type, ReduceOp op) {
    for (const size_t arrays : {1, 2, 3, 4, 5, 9}) {
      RandomArrays sources(type, 200, arrays);
      CHECK(differences({.type = type,
                         .op = op,
                         .order = FoldOrder::halves,
                         .count = 200,
                         .sources = sources.all(),
                         .divisor = 3}) == 0);
    }
  });
}

TEST_CASE("all pairs of 8-bit elements, and all 16-bit elements with others, have the CPU's bits") {
  for_types_and_ops([](ElementType type, ReduceOp op) {
    const size_t bytes = element_bytes(type);
    if (bytes > 2) return;
    constexpr size_t count = 65536;
    RandomArrays sources(type, count, 2);
    for (const size_t step : {size_t{1}, size_t{257}, size_t{40503}}) {
      for (size_t i = 0; i < count; ++i) {
        const auto a = static_cast<uint16_t>(i);
        const auto b = static_cast<uint16_t>(bytes == 1 ? i >> 8 : i * step + step);
        std::memcpy(sources.at(0) + i * bytes, &a, bytes);
        std::memcpy(sources.at(1) + i * bytes, &b, bytes);
      }
      CHECK(differences(
                {.type = type, .op = op, .count = count, .sources = sources.all(), .divisor = 2}) ==
            0);
    }
  });
}

TEST_CASE("the result may be one of the arrays") {
  RandomArrays sources(ElementType::float16, 1000, 3);
  ArrayReduction reduction = {
      .type = ElementType::float16, .count = 1000, .sources = sources.all()};
  RandomArrays expected(ElementType::float16, 1000, 1);
  reduction.into = expected.at(0);
  reduce_arrays(reduction);
  reduction.into = sources.at(1);
  emulate_reduce(reduce_arguments(reduction).value(), ElementType::float16, ReduceOp::sum, threads);
  size_t different = 0;
  for (size_t i = 0; i < 1000; ++i) {
    different += !equal(ElementType::float16, expected.at(0) + 2 * i, sources.at(1) + 2 * i);
  }
  CHECK(different == 0);
}

TEST_CASE("aligned arrays are accessed by 16 bytes from the first element on") {
  RandomArrays aligned(ElementType::float32, 100, 2);
  RandomArrays shifted(ElementType::float32, 100, 2, 1);
  const auto head_of = [](std::vector<const std::byte*> sources, std::byte* into) {
    const ArrayReduction reduction = {
        .type = ElementType::float32, .count = 90, .sources = std::move(sources), .into = into};
    return reduce_arguments(reduction).value().head;
  };
  CHECK(head_of(aligned.all(), aligned.at(0)) == 0);
  CHECK(head_of(shifted.all(), shifted.at(0)) == 3);
  CHECK(head_of(shifted.all(), aligned.at(0)) == 90);
}

TEST_CASE("more arrays than a kernel's parameters hold are an error with both numbers") {
  RandomArrays source(ElementType::int32, 4, 1);
  ArrayReduction reduction = {.type = ElementType::int32, .count = 4, .into = source.at(0)};
  reduction.sources.assign(128, source.at(0));
  CHECK(reduce_arguments(reduction).has_value());
  reduction.sources.push_back(source.at(0));
  const auto refused = reduce_arguments(reduction);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() ==
        Error{Errc::unsupported, "cannot reduce: a kernel takes at most 128 arrays, not 129"});
}

}  // namespace
}  // namespace dt
