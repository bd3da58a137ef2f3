#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace dt {
namespace {

constexpr size_t ranks = 256;
using Floats = std::vector<float>;

/// A step of a training on every rank: a broadcast, an all_gather, a barrier, and two named
/// tensors. Every second rank makes the named calls in another order.
struct Step {
  explicit Step(size_t count)
      : weights(ranks, Floats(count)),
        first(ranks, Floats(count, 1)),
        second(ranks, Floats(count, 2)),
        ids(ranks, Floats(1)),
        all_ids(ranks, Floats(ranks)) {
    for (size_t rank = 0; rank < ranks; ++rank)
      ids[rank][0] = static_cast<float>(rank);
    weights[7].assign(count, 7);
  }

  void submit(EngineGroup& group, size_t rank) {
    const int self = static_cast<int>(rank);
    const auto sum = [](Floats& values, const char* name) {
      return OperationRequest{.kind = OperationKind::all_reduce,
                              .count = values.size(),
                              .input = values.data(),
                              .output = values.data(),
                              .name = name};
    };
    works.push_back(group.submit(self, {.kind = OperationKind::broadcast,
                                        .peer = 7,
                                        .count = weights[rank].size(),
                                        .input = weights[rank].data(),
                                        .output = weights[rank].data()}));
    const bool swapped = rank % 2 == 1;
    for (const bool is_first : {!swapped, swapped})
      works.push_back(
          group.submit(self, is_first ? sum(first[rank], "first") : sum(second[rank], "second")));
    works.push_back(group.submit(self, {.kind = OperationKind::all_gather,
                                        .count = 1,
                                        .input = ids[rank].data(),
                                        .output = all_ids[rank].data()}));
    works.push_back(group.submit(self, {.kind = OperationKind::barrier}));
  }

  void check() const {
    for (const auto& work : works)
      REQUIRE(failure(work) == "ok");
    for (size_t rank = 0; rank < ranks; ++rank) {
      REQUIRE(weights[rank] == weights[7]);
      REQUIRE(first[rank] == Floats(first[rank].size(), ranks));
      REQUIRE(second[rank] == Floats(second[rank].size(), 2 * ranks));
      for (size_t i = 0; i < ranks; ++i)
        REQUIRE(all_ids[rank][i] == ids[i][0]);
    }
  }

  std::vector<Floats> weights;
  std::vector<Floats> first;
  std::vector<Floats> second;
  std::vector<Floats> ids;
  std::vector<Floats> all_ids;
  std::vector<std::shared_ptr<Operation>> works;
};

TEST_CASE("256 engines execute a step, each on a host of its own, or on four hosts") {
  for (const std::vector<int>& hosts : {std::vector(ranks, 1), std::vector(4, 64)}) {
    CAPTURE(hosts.size());
    EngineGroup group(hosts, hosts.size() == 4);
    for (const size_t count : {size_t{3}, size_t{1000}}) {
      Step step(count);
      for (size_t rank = 0; rank < ranks; ++rank)
        step.submit(group, rank);
      group.settle();
      step.check();
    }
  }
}

TEST_CASE("the death of one of 256 ranks ends the calls of all others with its name") {
  EngineGroup group(std::vector(ranks, 1), false);
  Step step(10);
  for (size_t rank = 0; rank < ranks; ++rank)
    if (rank != 100) step.submit(group, rank);
  group.settle();
  group.end(100);
  for (int rank = 0; rank < static_cast<int>(ranks); ++rank)
    if (rank != 100) group.notify(rank, Notice::Kind::dead, 100, "killed by SIGKILL");
  group.settle();
  for (const auto& work : step.works) {
    REQUIRE(work->outcome.has_value());
    if (*work->outcome) continue;
    CHECK(failure_code(work) == Errc::peer_lost);
    CHECK(work->blamed_rank == 100);
  }
}

}  // namespace
}  // namespace dt
