#include "comm/device/nccl_vote.h"

#include "comm/collective/descriptor.h"
#include "comm/collective/operation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace dt {
namespace {

OperationRequest call() {
  return {.kind = OperationKind::broadcast,
          .peer = 1,
          .count = 5,
          .name = "w",
          .in_sequence = true,
          .timeout = Duration(7)};
}

TEST_CASE("a vote takes the least wish of all ranks, and is compared as the call behind it") {
  const NcclVote vote(call(), {.route = DeviceRoute::nccl});
  const auto operation = vote.operation();
  const OperationRequest& request = operation->request;
  CHECK(request.kind == OperationKind::all_reduce);
  CHECK(request.reduce == ReduceOp::min);
  CHECK(request.count == 2);
  CHECK(request.timeout == Duration(7));
  CHECK(request.name == "w");
  CHECK(request.in_sequence);
  CHECK(*static_cast<const int32_t*>(request.input) == 2);
  CHECK(check_request(request, 0, 2).has_value());
  const Descriptor descriptor = Descriptor::of(request);
  CHECK(descriptor.kind == OperationKind::broadcast);
  CHECK(descriptor.count == 5);
  CHECK(descriptor.terms.memory == MemoryKind::connected_device);
  CHECK(label(*operation) == "broadcast \"w\"");
}

TEST_CASE("the outcome is the least route, and a slot if all ranks can give it one") {
  const NcclVote with(call(), {.route = DeviceRoute::undecided, .slot = true});
  const NcclVote without(call(), {.route = DeviceRoute::nccl});
  const auto* const other = static_cast<const int32_t*>(without.operation()->request.input);
  auto* const least = static_cast<int32_t*>(with.operation()->request.output);
  CHECK(with.outcome().route == DeviceRoute::undecided);
  CHECK(with.outcome().slot);
  for (int i = 0; i < 2; ++i)
    least[i] = std::min(least[i], other[i]);
  CHECK(with.outcome().route == DeviceRoute::undecided);
  CHECK_FALSE(with.outcome().slot);
}

}  // namespace
}  // namespace dt
