#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

using Works = std::vector<std::shared_ptr<Operation>>;

OperationRequest barrier(Duration timeout) {
  return {.kind = OperationKind::barrier, .timeout = timeout};
}

/// Rank 0 of two has queued so many barriers, each with a limit. Rank 1 makes none.
Works queue_barriers(EngineGroup& group, int count) {
  Works works;
  for (int i = 0; i < count; ++i)
    works.push_back(group.submit(0, barrier(seconds(10))));
  group.settle();
  return works;
}

TEST_CASE("a step reads none of the limits of a thousand queued operations") {
  EngineGroup group(2);
  const Works works = queue_barriers(group, 1000);
  const Time next = group[0].next_deadline();
  // From now on, each look at one of these would find it late.
  for (const auto& work : works)
    if (work != works.front()) work->submitted = Time(seconds(1));
  group.settle();
  CHECK(group[0].next_deadline() == next);
  int looks = 0;
  for (const auto& work : works)
    looks += pending(work) ? 0 : 1;
  CHECK(looks == 0);
}

TEST_CASE("an operation that is queued behind others ends at its limit, with all behind it") {
  EngineGroup group(2);
  const auto first = group.submit(0, barrier(seconds(10)));
  const auto second = group.submit(0, barrier(seconds(8)));
  const auto third = group.submit(0, barrier(seconds(3)));
  const auto fourth = group.submit(0, barrier(seconds(5)));
  group.settle();
  group.pass(seconds(4));
  CHECK(pending(second));
  CHECK(failure(third) == "barrier #3: timed out after 3s on rank 0 (host n0) behind barrier #1");
  CHECK(failure(fourth) == "barrier #4: not possible after barrier #3 timed out");
  // The stop has left these with their own limits.
  group.pass(seconds(5));
  CHECK(failure(second) == "barrier #2: timed out after 8s on rank 0 (host n0) behind barrier #1");
  CHECK(pending(first));
}

}  // namespace
}  // namespace dt
