// Sums of the ranks of one host that kernels of ours run, beside those of NCCL, in C. Devices of
// the CPU and a library of our own take the places of GPUs and NCCL.
#include "comm/include/dtrain/dtrain_device.h"
#include "tests/unit/comm/api/nccl_fixture.h"

#include <string>
#include <vector>

namespace dt {
namespace {

void check_small_sums(const char* share) {
  // NCCL fails at its first sum.
  Variables variables("nccl", "fail=ncclAllReduce:1");
  variables.set("DTRAIN_PEER_MAX", "64K");
  variables.set("DTRAIN_GPU_SHARE", share);
  for (const int size : {2, 3}) {
    World world({.size = size, .per_host = size});
    check_all_well(world.run([size](dtrain::Context& context) {
      DeviceRank rank(context);
      rank.reach_nccl();
      const std::vector<int32_t> expected(3, size * (size + 1) / 2);
      for (const char* const name : {"first", "second", "first"}) {
        CHECK(rank.sum() == DTRAIN_OK);
        CHECK(rank.result == expected);
        const dtrain_op_options options = options_named(name);
        CHECK(rank.sum(&options) == DTRAIN_OK);
        CHECK(rank.result == expected);
      }
    }));
  }
}

TEST_CASE("small sums need no NCCL, also by name") {
  check_small_sums("0");
}

TEST_CASE("small sums of ranks that share a GPU need no NCCL") {
  check_small_sums("1");
}

TEST_CASE("larger sums are NCCL's") {
  Variables variables("nccl", "fail=ncclAllReduce:1 larger");
  variables.set("DTRAIN_PEER_MAX", "1K");
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    DeviceRank rank(context);
    rank.reach_nccl();
    CHECK(rank.sum(nullptr, 0, 256) == DTRAIN_OK);
    CHECK(rank.sum(nullptr, 0, 257) != DTRAIN_OK);
    CHECK_MESSAGE(contains(rank.error.text, "ncclAllReduce"), rank.error.text);
  }));
}

TEST_CASE("a rank that leaves ends sums that wait for it") {
  for (const char* const share : {"0", "1"}) {
    Variables variables("nccl");
    variables.set("DTRAIN_PEER_MAX", "64K");
    variables.set("DTRAIN_GPU_SHARE", share);
    World world({.size = 3, .per_host = 3});
    check_all_well(world.run([](dtrain::Context& context) {
      DeviceRank rank(context);
      rank.reach_nccl();
      if (context.rank() == 1) return;
      const std::string text = rank.first_failure();
      CHECK_MESSAGE(contains(text, "rank 1"), text);
    }));
  }
}

TEST_CASE("a wrong limit fails the init") {
  Variables variables("auto");
  variables.set("DTRAIN_PEER_MAX", "much");
  World world({.size = 1});
  const std::vector<RankOutcome> outcomes = world.run([](dtrain::Context&) {});
  CHECK_MESSAGE(contains(outcomes[0].text, "DTRAIN_PEER_MAX is 'much'; it can be a size from 0"),
                outcomes[0].text);
}

}  // namespace
}  // namespace dt
