#include "comm/named/join.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace dt {
namespace {

Descriptor call(OperationKind kind, int root = 0) {
  return {.kind = kind, .root = root, .count = 3};
}

TEST_CASE("ranks that have joined contribute to reductions, but are no root") {
  const std::vector<int> joined = {1, 3};
  CHECK(obstacle_of_joined(call(OperationKind::all_reduce), joined).empty());
  CHECK(obstacle_of_joined(call(OperationKind::reduce_scatter), joined).empty());
  CHECK(obstacle_of_joined(call(OperationKind::reduce, 2), joined).empty());
  CHECK(obstacle_of_joined(call(OperationKind::reduce, 3), joined) ==
        "reduce is impossible without its root");
  CHECK(obstacle_of_joined(call(OperationKind::barrier), joined) ==
        "barrier is impossible without data of all ranks");
  CHECK(obstacle_of_joined(call(OperationKind::broadcast, 2), joined) ==
        "broadcast is impossible without data of all ranks");
}

TEST_CASE("the call of a rank that has joined has the identity as its input") {
  Descriptor product = call(OperationKind::reduce_scatter);
  product.reduce = ReduceOp::product;
  product.terms.prescale = 3;
  const auto operation = joined_call(product, 4);
  const OperationRequest& request = operation->request;
  CHECK(request.kind == OperationKind::reduce_scatter);
  CHECK(request.count == 3);
  CHECK(request.terms == product.terms);
  const auto* input = static_cast<const float*>(request.input);
  CHECK(std::vector<float>(input, input + 12) == std::vector<float>(12, 1));
  // The output is memory of its own.
  std::memset(request.output, 0, 3 * sizeof(float));
  CHECK(input[11] == 1);
  CHECK(joined_call(call(OperationKind::all_reduce), 4)->request.count == 3);
}

TEST_CASE("a join ends with the last rank as its result") {
  Operation join;
  join.request.kind = OperationKind::join;
  join.request.result = std::make_shared<OperationResult>();
  end_join(join, 2);
  REQUIRE(join.outcome);
  CHECK(*join.outcome);
  CHECK(join.request.result->counts == std::vector<size_t>{1});
  int32_t last = -1;
  std::memcpy(&last, join.request.result->data.get(), sizeof last);
  CHECK(last == 2);
}

}  // namespace
}  // namespace dt
