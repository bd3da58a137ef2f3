#include "cmd/bench/operation.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("every operation is found by its name, and no name twice") {
  for (const OperationRow& row : bench_operations()) {
    CAPTURE(row.name);
    CHECK(parse_bench_operation(row.name) == row.operation);
    CHECK(&row_of(row.operation) == &row);
  }
  CHECK(bench_operation_names().size() == bench_operations().size());
  CHECK_FALSE(parse_bench_operation("all_to_all_v"));
  CHECK_FALSE(parse_bench_operation(""));
}

TEST_CASE("the bus bandwidth has the factors of nccl-tests") {
  struct Case {
    BenchOperation operation;
    double of_four;
    double of_one;
  };
  for (const Case& one : {Case{BenchOperation::all_reduce, 1.5, 0},
                          {BenchOperation::all_gather, 0.75, 0},
                          {BenchOperation::reduce_scatter, 0.75, 0},
                          {BenchOperation::all_to_all, 0.75, 0},
                          {BenchOperation::gather, 0.75, 0},
                          {BenchOperation::scatter, 0.75, 0},
                          {BenchOperation::broadcast, 1, 1},
                          {BenchOperation::reduce, 1, 1},
                          {BenchOperation::latency, 1, 1}}) {
    CHECK(row_of(one.operation).bus_factor(4) == one.of_four);
    CHECK(row_of(one.operation).bus_factor(1) == one.of_one);
  }
}

TEST_CASE("a size is that of the larger buffer, rounded down to an equal part of each rank") {
  struct Case {
    BenchOperation operation;
    size_t bytes, count, input, output, shape_bytes;
  };
  const Case cases[] = {
      {BenchOperation::all_reduce, 4096, 1024, 1024, 1024, 4096},
      {BenchOperation::broadcast, 7, 1, 1, 1, 4},
      {BenchOperation::all_gather, 100, 8, 8, 24, 96},
      {BenchOperation::reduce_scatter, 100, 8, 24, 8, 96},
      {BenchOperation::all_to_all, 100, 8, 24, 24, 96},
      {BenchOperation::reduce, 100, 25, 25, 25, 100},
      {BenchOperation::gather, 100, 8, 8, 24, 96},
      {BenchOperation::scatter, 100, 8, 24, 8, 96},
      {BenchOperation::all_gather, 8, 0, 0, 0, 0},
      {BenchOperation::latency, 3, 0, 0, 0, 0},
  };
  for (const Case& one : cases) {
    const CallShape shape = shape_of(row_of(one.operation), one.bytes, 4, 3);
    CHECK(shape.count == one.count);
    CHECK(shape.input == one.input);
    CHECK(shape.output == one.output);
    CHECK(shape.bytes == one.shape_bytes);
  }
}

}  // namespace
}  // namespace dt
