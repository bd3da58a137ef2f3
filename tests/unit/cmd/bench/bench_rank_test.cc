#include "cmd/bench/bench_rank.h"

#include "cmd/bench/dtrain_world.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

using Texts = std::vector<std::string>;

std::vector<BenchRank> exchanged(const BenchRank& own) {
  DtrainWorld world(dtrain_init(nullptr, nullptr));
  return exchange_ranks(world, own).value();
}

TEST_CASE("ranks receive the records as they are") {
  for (const BenchRank& own :
       {BenchRank{.pid = 7, .host = "node1"},
        BenchRank{.pid = 8, .host = "node2", .device = "cuda:3", .uuid = "GPU-1a2b", .model = "T4"},
        BenchRank{.pid = int64_t{1} << 40, .host = "", .failure = "no usable GPU: none"}})
    CHECK(exchanged(own) == std::vector{own});
}

TEST_CASE("long texts are cut") {
  const BenchRank longest = {.host = std::string(5000, 'h'),
                             .device = std::string(5000, 'd'),
                             .uuid = std::string(5000, 'u'),
                             .model = std::string(5000, 'm'),
                             .failure = std::string(5000, 'f')};
  const BenchRank cut = exchanged(longest).front();
  CHECK(cut.host == std::string(255, 'h'));
  CHECK(cut.device == std::string(63, 'd'));
  CHECK(cut.uuid == std::string(127, 'u'));
  CHECK(cut.model == std::string(255, 'm'));
  CHECK(cut.failure == std::string(1023, 'f'));
}

TEST_CASE("the failure of the lowest rank is the job's, with the rank and its host") {
  CHECK_FALSE(first_failure({{.host = "node1", .device = "cuda:0"}, {.host = "node1"}}));
  CHECK_FALSE(first_failure({}));
  const auto failure = first_failure({{.host = "node1", .device = "cuda:0"},
                                      {.host = "node2", .failure = "no usable GPU: broken"},
                                      {.host = "node3", .failure = "other"}});
  REQUIRE(failure);
  CHECK(*failure == Error{Errc::not_found, "--device gpu: rank 1 on node2: no usable GPU: broken"});
}

TEST_CASE("a device that several ranks have is named once, with its ranks") {
  struct Case {
    std::vector<BenchRank> ranks;
    Texts expected;
  };
  const Case cases[] = {
      {{}, {}},
      // Memory of the host is no device.
      {{{.host = "a"}, {.host = "a"}}, {}},
      // With --gpu-bind rank, the number 0 stands for another GPU in each process.
      {{{.host = "a", .device = "cuda:0", .uuid = "GPU-1"},
        {.host = "a", .device = "cuda:0", .uuid = "GPU-2"}},
       {}},
      {{{.host = "a", .device = "cuda:0", .uuid = "GPU-1"},
        {.host = "a", .device = "cuda:1", .uuid = "GPU-2"},
        {.host = "a", .device = "cuda:2", .uuid = "GPU-1"},
        {.host = "a", .device = "cuda:1", .uuid = "GPU-2"},
        {.host = "a", .device = "cuda:0", .uuid = "GPU-1"}},
       {"Ranks 0, 2, 4 share one GPU of a: GPU-1", "Ranks 1, 3 share one GPU of a: GPU-2"}},
      {{{.host = "a", .device = "cpu:0"},
        {.host = "a", .device = "cpu:1"},
        {.host = "b", .device = "cpu:0"},
        {.host = "b", .device = "cpu:0"}},
       {"Ranks 2, 3 share one device of b: cpu:0"}},
  };
  for (const Case& one : cases)
    CHECK(shared_devices(one.ranks) == one.expected);
}

}  // namespace
}  // namespace dt
