#include "cmd/bench/bench_type.h"

#include "comm/include/dtrain/dtrain.h"

#include <doctest/doctest.h>

#include <set>

namespace dt {
namespace {

TEST_CASE("every type and reduction of libdtrain has one row") {
  std::set<int> numbers;
  for (const BenchType& type : bench_types())
    numbers.insert(type.number);
  CHECK(numbers.size() == bench_types().size());
  CHECK(*numbers.begin() == DTRAIN_INT8);
  CHECK(*numbers.rbegin() == DTRAIN_FLOAT8_E5M2);
  CHECK_FALSE(numbers.contains(DTRAIN_OPAQUE));
  CHECK(bench_types().size() == DTRAIN_FLOAT8_E5M2 - DTRAIN_INT8);
  numbers.clear();
  for (const std::string& name : bench_reduction_names())
    numbers.insert(find_bench_reduction(name)->number);
  CHECK(numbers ==
        std::set<int>{DTRAIN_SUM, DTRAIN_AVERAGE, DTRAIN_MIN, DTRAIN_MAX, DTRAIN_PRODUCT});
}

TEST_CASE("the names of nccl-tests are understood, and shown by the usual name") {
  CHECK(find_bench_type("float")->name() == "float32");
  CHECK(find_bench_type("half")->number == DTRAIN_FLOAT16);
  CHECK(find_bench_type("bfloat16")->bytes == 2);
  CHECK(find_bench_type("f8e4m3")->name() == "float8_e4m3");
  CHECK(find_bench_type("f8e5m2")->number == DTRAIN_FLOAT8_E5M2);
  CHECK(find_bench_type("Float") == nullptr);
  CHECK(find_bench_type("") == nullptr);
  CHECK(find_bench_reduction("product")->name() == "prod");
  CHECK(find_bench_reduction("avg")->number == DTRAIN_AVERAGE);
  CHECK(find_bench_reduction("mulsum") == nullptr);
  CHECK(bench_type_names().front() == "float32");
  CHECK(bench_reduction_names().front() == "sum");
}

}  // namespace
}  // namespace dt
