#include "cmd/bench/timing.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("percentiles are those of the sorted times") {
  std::vector<double> times;
  for (int i = 200; i > 0; --i)
    times.push_back(i);
  const Timing timing = timing_of(times);
  CHECK(timing.iterations == 200);
  CHECK(timing.min_us == 1);
  CHECK(timing.p50_us == 101);
  CHECK(timing.p99_us == 199);
  const Timing single = timing_of({4});
  CHECK(single == Timing{.iterations = 1, .min_us = 4, .p50_us = 4, .p99_us = 4});
}

TEST_CASE("a bandwidth counts 1e9 bytes, and a time of zero has none") {
  const OperationRow& row = row_of(BenchOperation::all_reduce);
  const Bandwidth bandwidth = bandwidth_of(row, 1'000'000, 500, 4);
  CHECK(bandwidth.algorithm == doctest::Approx(2));
  CHECK(bandwidth.bus == doctest::Approx(3));
  CHECK(bandwidth_of(row, 1, 0, 4).algorithm == 0);
}

TEST_CASE("the calls fill the time, but are at least five and at most the limit") {
  CHECK(calls_within(1000, 10, 2000) == 100);
  CHECK(calls_within(1000, 999, 2000) == 5);
  CHECK(calls_within(1000, 0.1, 2000) == 2000);
  CHECK(calls_within(1000, 0, 2000) == 2000);
  CHECK(calls_within(1000, 999, 3) == 3);
}

TEST_CASE("averages and wrong elements are those of both modes") {
  const OperationRow& row = row_of(BenchOperation::broadcast);
  const std::vector<SizeResult> results = {
      {.shape = {.bytes = 4000},
       .out_of_place = Timing{.mean_us = 1, .wrong = 2},
       .in_place = Timing{.mean_us = 2, .wrong = 1}},
      {.shape = {.bytes = 4000}, .out_of_place = Timing{.mean_us = 4}}};
  CHECK(average_bus(row, results, 2) == doctest::Approx((4.0 + 2 + 1) / 3));
  CHECK(average_bus(row, {}, 2) == 0);
  CHECK(wrong_in(results) == 3);
  CHECK(wrong_in({}) == 0);
}

}  // namespace
}  // namespace dt
