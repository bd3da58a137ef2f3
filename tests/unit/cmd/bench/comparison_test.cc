#include "cmd/bench/comparison.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

std::string line(std::string_view label, int ranks, std::string_view bytes, std::string_view p50) {
  return std::string(label) + "\tallreduce\t" + std::to_string(ranks) + "\t" + std::string(bytes) +
         "\t20\t1\t" + std::string(p50) + "\t9\t9\t0\t0\t0\n";
}

TEST_CASE("each size has both medians and their ratio") {
  const std::string lines = line("dtrain", 2, "8", "1.50") + line("dtrain", 2, "16", "30000.00") +
                            line("ompi", 2, "8", "3.00") + line("ompi", 2, "16", "10000.00");
  CHECK(ranks_in_lines(lines) == 2);
  CHECK(comparison_text(lines).value() ==
        "# p50 of single calls (us); a ratio below 1: dtrain is faster\n"
        "#       size     dtrain   Open MPI   ratio\n"
        "           8       1.50       3.00    0.50\n"
        "          16   30000.00   10000.00    3.00\n");
}

TEST_CASE("measurements that differ in sizes or ranks are not compared") {
  CHECK(ranks_in_lines("") == 0);
  CHECK_FALSE(comparison_text(""));
  CHECK(comparison_text(line("dtrain", 2, "8", "1")).error().message ==
        "bench: 1 sizes of dtrain and 0 of Open MPI have results");
  const auto ranks = comparison_text(line("dtrain", 2, "8", "1") + line("ompi", 1, "8", "1"));
  REQUIRE_FALSE(ranks);
  CHECK(ranks.error().message ==
        "bench: dtrain had 2 ranks and mpirun started 1; --compare needs the mpirun of Open MPI");
}

}  // namespace
}  // namespace dt
