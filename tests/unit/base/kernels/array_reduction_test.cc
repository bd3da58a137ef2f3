#include "base/kernels/array_reduction.h"

#include "tests/unit/base/kernels/kernel_arrays.h"
#include "tests/unit/base/kernels/plain_fold.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

constexpr size_t count = 1031;  // one piece, and a remainder of odd length
constexpr FoldOrder orders[] = {FoldOrder::rank, FoldOrder::halves};

/// Arrays of random bits with all special values among them.
std::vector<ElementArray> random_arrays(const ElementFormat& format, size_t n) {
  std::mt19937_64 random(n);
  std::vector<ElementArray> arrays;
  for (size_t i = 0; i < n; ++i)
    arrays.emplace_back(format, count, i % 3).fill(random);
  return arrays;
}

ArrayReduction reduction_of(const std::vector<ElementArray>& arrays, ElementType type,
                            ReduceOp op) {
  ArrayReduction reduction{.type = type, .op = op, .count = count};
  for (const ElementArray& array : arrays)
    reduction.sources.push_back(array.at());
  reduction.divisor = static_cast<int>(arrays.size());
  return reduction;
}

bool has(const ElementArray& array, const std::vector<std::byte>& expected) {
  return std::memcmp(array.at(), expected.data(), expected.size()) == 0;
}

/// Calls `body` for each type, operation and number of arrays from 2.
template <class Body>
void for_each_reduction(const Body& body) {
  for (const ElementFormat& format : all_formats) {
    CAPTURE(static_cast<int>(format.type));
    for (const ReduceOp op : operations_of(format)) {
      CAPTURE(static_cast<int>(op));
      for (size_t n = 2; n <= 9; ++n) {
        CAPTURE(n);
        body(format, op, random_arrays(format, n));
      }
    }
  }
}

TEST_CASE("a reduction has the bits of a plain fold, for each type, operation and order") {
  for_each_reduction([](const ElementFormat& format, ReduceOp op, const auto& arrays) {
    for (const FoldOrder order : orders) {
      ArrayReduction reduction = reduction_of(arrays, format.type, op);
      reduction.order = order;
      ElementArray into(format, count, 1);
      reduction.into = into.at();
      REQUIRE(check(reduction).has_value());
      reduce_arrays(reduction);
      REQUIRE(has(into, plain_fold(reduction)));
    }
  });
}

TEST_CASE("the result may replace any of the arrays") {
  for_each_reduction([](const ElementFormat& format, ReduceOp op, const auto& arrays) {
    for (const FoldOrder order : orders) {
      std::vector<ElementArray> copies = arrays;
      ArrayReduction reduction = reduction_of(copies, format.type, op);
      reduction.order = order;
      const std::vector<std::byte> expected = plain_fold(reduction);
      ElementArray& replaced = copies[copies.size() / 2];
      reduction.into = replaced.at();
      reduce_arrays(reduction);
      REQUIRE(has(replaced, expected));
    }
  });
}

TEST_CASE("a result has further places, which may replace others of the arrays") {
  for_each_reduction([](const ElementFormat& format, ReduceOp op, const auto& arrays) {
    for (const FoldOrder order : orders) {
      std::vector<ElementArray> copies = arrays;
      ArrayReduction reduction = reduction_of(copies, format.type, op);
      reduction.order = order;
      const std::vector<std::byte> expected = plain_fold(reduction);
      reduction.into = copies.front().at();
      ElementArray beside(format, reduction.count, 0);
      reduction.also = {copies.back().at(), beside.at()};
      if (copies.size() == 1) reduction.also = {beside.at()};
      REQUIRE(check(reduction).has_value());
      reduce_arrays(reduction);
      REQUIRE(has(copies.front(), expected));
      REQUIRE(has(copies.back(), expected));
      REQUIRE(has(beside, expected));
    }
  });
}

TEST_CASE("the halves of three arrays are the first and the other two") {
  const float arrays[] = {1e8F, -1e8F, 1.0F};
  ArrayReduction reduction{.order = FoldOrder::halves, .count = 1};
  for (const float& array : arrays)
    reduction.sources.push_back(reinterpret_cast<const std::byte*>(&array));
  float result = -1;
  reduction.into = reinterpret_cast<std::byte*>(&result);
  reduce_arrays(reduction);
  CHECK(result == 0.0F);  // 1e8 + (-1e8 + 1), where 1 is lost
  reduction.order = FoldOrder::rank;
  reduce_arrays(reduction);
  CHECK(result == 1.0F);  // (1e8 - 1e8) + 1
}

TEST_CASE("one array alone stays as it is, and nothing is written for no elements") {
  const uint32_t signalling = 0x7f800001;
  uint32_t into = 7;
  ArrayReduction reduction{.count = 1,
                           .sources = {reinterpret_cast<const std::byte*>(&signalling)},
                           .into = reinterpret_cast<std::byte*>(&into)};
  reduce_arrays(reduction);
  CHECK(into == signalling);
  reduction = {.sources = {nullptr}};
  CHECK(check(reduction).has_value());
  reduce_arrays(reduction);
}

TEST_CASE("a reduction that no device can make is refused with the reason") {
  std::byte byte{};
  struct Case {
    ArrayReduction reduction;
    const char* message;
  };
  const Case cases[] = {
      {{.op = ReduceOp::adasum, .count = 1, .sources = {&byte}, .into = &byte},
       "cannot reduce: adasum does not reduce element by element"},
      {{.type = ElementType::boolean, .op = ReduceOp::average, .sources = {&byte}},
       "cannot reduce: booleans have no average"},
      {{.count = 1, .into = &byte}, "cannot reduce: there are no arrays"},
      {{.count = 1, .sources = {&byte}, .into = &byte, .divisor = 0},
       "cannot reduce: the divisor of an average is a number from 1"},
      {{.count = 1, .sources = {&byte, nullptr}, .into = &byte}, "cannot reduce: an array is null"},
      {{.count = 1, .sources = {&byte}}, "cannot reduce: an array is null"},
      {{.count = 1, .sources = {&byte}, .into = &byte, .also = {&byte}},
       "cannot reduce: two results have one place"},
      {{.count = 1, .sources = {&byte}, .into = &byte, .also = {nullptr}},
       "cannot reduce: an array is null"},
  };
  for (const Case& c : cases) {
    const Result<> result = check(c.reduction);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == Error{Errc::input, c.message});
  }
}

}  // namespace
}  // namespace dt
