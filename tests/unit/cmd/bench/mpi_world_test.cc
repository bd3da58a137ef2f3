#include "cmd/bench/mpi_world.h"

#include "cmd/bench/bench_type.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("MPI has every type but small floats and bool, and every reduction but the average") {
  for (const BenchType& type : bench_types()) {
    CAPTURE(type.name());
    CHECK(mpi_has(type.name(), "sum") ==
          !(type.name() == "bool" || (type.floating && type.bytes <= 2)));
  }
  for (const std::string& reduction : bench_reduction_names())
    CHECK(mpi_has("float32", reduction) == (reduction != "avg"));
}

}  // namespace
}  // namespace dt
