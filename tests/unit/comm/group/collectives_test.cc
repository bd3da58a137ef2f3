#include "comm/group/collectives.h"

#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

using Floats = std::vector<float>;

OperationRequest all_reduce(Floats& values) {
  return {.kind = OperationKind::all_reduce,
          .count = values.size(),
          .input = values.data(),
          .output = values.data()};
}

TEST_CASE("a small collective over links needs one message of each rank, and no answer of rank 0") {
  EngineGroup group(2);
  Floats one = {1};
  Floats two = {2};
  const auto first = group.submit(1, all_reduce(two));
  group[1].step(group.now);
  const auto second = group.submit(0, all_reduce(one));
  group[0].step(group.now);
  group[1].step(group.now);
  CHECK(succeeded(first));
  CHECK(two[0] == 3);
  group[0].step(group.now);
  CHECK(succeeded(second));
}

TEST_CASE("data of a large collective waits for the call of its receiver") {
  EngineGroup group(2);
  std::vector<Floats> values(2, Floats(50'000));
  const auto early = group.submit(0, all_reduce(values[0]));
  group.settle();
  CHECK(group.pipe(0, 1).bytes.size() < 1000);
  const auto late = group.submit(1, all_reduce(values[1]));
  group.settle();
  CHECK(succeeded(early));
  CHECK(succeeded(late));
}

}  // namespace
}  // namespace dt
