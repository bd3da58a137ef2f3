#include "cmd/bench/pattern.h"

#include "comm/collective/reduce.h"
#include "comm/include/dtrain/dtrain.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace dt {
namespace {

Pattern pattern_of(const BenchType& type, const BenchReduction& reduction, int size) {
  return Pattern(type, reduction, {.rank = 0, .size = size});
}

/// Folds the inputs of all ranks by the engine's own arithmetic, in the order given.
Bytes folded(const Pattern& pattern, const BenchType& type, const BenchReduction& reduction,
             const std::vector<int>& order) {
  const auto element = type_with_number(type.number).value();
  const auto op = static_cast<ReduceOp>(reduction.number);
  Bytes result = pattern.input_of(order.front());
  for (const int rank : std::span(order).subspan(1)) {
    const Bytes other = pattern.input_of(rank);
    Reduction{.type = element, .op = op}.apply(result.data(), other.data(), Pattern::period);
  }
  if (op == ReduceOp::average)
    average_over(element, result.data(), Pattern::period, static_cast<int>(order.size()));
  return result;
}

TEST_CASE("every order of every reduction has the expected bits, for every type") {
  std::mt19937 random(7);
  for (const BenchType& type : bench_types()) {
    for (const std::string& name : bench_reduction_names()) {
      const BenchReduction& reduction = *find_bench_reduction(name);
      if (reduction.name() == "avg" && type.name() == "bool") continue;
      for (const int size : {1, 2, 3, 7, 64, 300}) {
        CAPTURE(type.name());
        CAPTURE(reduction.name());
        CAPTURE(size);
        const Pattern pattern = pattern_of(type, reduction, size);
        const Bytes expected = pattern.reduced();
        std::vector<int> order(static_cast<size_t>(size));
        std::iota(order.begin(), order.end(), 0);
        for (int round = 0; round < 3; ++round) {
          const Bytes found = folded(pattern, type, reduction, order);
          CHECK(pattern.count_wrong(found, expected, 0) == 0);
          std::ranges::shuffle(order, random);
        }
      }
    }
  }
}

TEST_CASE("the values of two ranks differ, and so does a sum that misses one rank") {
  for (const BenchType& type : bench_types()) {
    CAPTURE(type.name());
    const Pattern pattern = pattern_of(type, *find_bench_reduction("sum"), 3);
    CHECK(pattern.input_of(0) != pattern.input_of(1));
    const Bytes incomplete = folded(pattern, type, *find_bench_reduction("sum"), {0, 2});
    // Each rank decides a quarter of the booleans, and no rank the last quarter.
    const size_t least = type.name() == "bool" ? Pattern::period / 5 : Pattern::period / 2;
    CHECK(pattern.count_wrong(incomplete, pattern.reduced(), 0) > least);
  }
}

TEST_CASE("a fill goes on where the array begins in the cycle") {
  const BenchType& type = *find_bench_type("int32");
  const Pattern pattern = pattern_of(type, *find_bench_reduction("sum"), 2);
  const Bytes cycle = pattern.input_of(1);
  Bytes whole(3 * cycle.size());
  pattern.fill(whole, cycle, 0);
  CHECK(pattern.count_wrong(whole, cycle, 0) == 0);
  CHECK(pattern.count_wrong(whole, cycle, Pattern::period) == 0);
  CHECK(pattern.count_wrong(whole, cycle, 1) > 0);
  const size_t first = Pattern::period + 1000;
  Bytes part(size_t{4} * 50);
  pattern.fill(part, cycle, first);
  CHECK(std::ranges::equal(part, ByteSpan(whole).subspan(first * 4, part.size())));
  CHECK(pattern.count_wrong(part, cycle, first) == 0);
}

TEST_CASE("each element with a wrong bit counts once") {
  const BenchType& type = *find_bench_type("float64");
  const Pattern pattern = pattern_of(type, *find_bench_reduction("sum"), 2);
  const Bytes cycle = pattern.reduced();
  Bytes found(4 * cycle.size());
  pattern.fill(found, cycle, 5);
  found[0] ^= std::byte{1};
  found[7] ^= std::byte{0x80};
  found[8 * Pattern::period] ^= std::byte{1};
  found.back() ^= std::byte{1};
  CHECK(pattern.count_wrong(found, cycle, 5) == 3);
  CHECK(pattern.count_wrong({}, cycle, 5) == 0);
}

}  // namespace
}  // namespace dt
