#include "cmd/bench/rank_program.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("a rank that cannot measure ends with the status 1") {
  CHECK(run_bench_rank(Words{}, {}) == 1);
  CHECK(run_bench_rank(Words{"all_to_none"}, {}) == 1);
  // Alone, there is no other rank to exchange messages with.
  CHECK(run_bench_rank(Words{"latency"}, {}) == 1);
}

TEST_CASE("a rank without the device that it needs ends with the status 1") {
  const Words words = {"all_reduce", "--device", "gpu", "-e", "8", "-n", "1", "--csv"};
  CHECK(run_bench_rank(words, {{"DTRAIN_CPU_DEVICES", "0"}}) == 1);
  CHECK(run_bench_rank(words, {{"DTRAIN_CPU_DEVICES", "1"}}) == 0);
}

}  // namespace
}  // namespace dt
