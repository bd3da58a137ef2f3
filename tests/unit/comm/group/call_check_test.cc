#include "comm/group/call_check.h"

#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace dt {
namespace {

using Floats = std::vector<float>;
using Works = std::vector<std::shared_ptr<Operation>>;

OperationRequest all_reduce(Floats& values) {
  return {.kind = OperationKind::all_reduce,
          .count = values.size(),
          .input = values.data(),
          .output = values.data()};
}

TEST_CASE("a mismatch of collectives over links is found for each pair of sizes") {
  for (const size_t usual : {size_t{0}, size_t{1}, size_t{50'000}}) {
    for (const size_t other : {size_t{0}, size_t{2}, size_t{60'000}}) {
      for (int odd = 0; odd < 5; ++odd) {
        if (usual == other) continue;
        EngineGroup group(5);
        Works works;
        std::vector<Floats> values(5, Floats(usual));
        values[static_cast<size_t>(odd)].resize(other);
        for (int rank = 0; rank < 5; ++rank)
          works.push_back(group.submit(rank, all_reduce(values[static_cast<size_t>(rank)])));
        group.settle();
        group.pass(milliseconds(100));
        for (const auto& work : works) {
          CHECK(failure_code(work) == Errc::mismatch);
          CHECK(work->blamed_rank == odd);
        }
        works = group.submit_all({.kind = OperationKind::barrier});
        group.settle();
        for (const auto& work : works)
          CHECK(failure(work) == "ok");
      }
    }
  }
}

TEST_CASE("a rank that is done with a collective is not missing when another one is late") {
  EngineGroup group(3);
  std::vector<Floats> values(3, Floats(1));
  Works works;
  for (int rank = 0; rank < 3; ++rank) {
    OperationRequest request = all_reduce(values[static_cast<size_t>(rank)]);
    request.timeout = rank == 2 ? Duration(seconds(1)) : Duration::zero();
    works.push_back(group.submit(rank, request));
  }
  group[2].step(group.now);
  group.stopped[2] = true;
  group.settle();
  CHECK(succeeded(works[0]));
  CHECK(succeeded(works[1]));
  group.stopped[2] = false;
  group.pipe(0, 2).piece_max = 0;  // the result does not get to rank 2
  group.pass(milliseconds(900));
  CHECK(pending(works[2]));
  group.pipe(0, 2).piece_max = 1 << 20;
  group.settle();
  CHECK(failure(works[2]) == "ok");
}

}  // namespace
}  // namespace dt
