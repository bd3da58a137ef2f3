#include "comm/device/nccl_vote.h"

#include "comm/collective/descriptor.h"
#include "comm/collective/operation.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

OperationRequest call() {
  return {.kind = OperationKind::broadcast, .peer = 1, .count = 5, .timeout = Duration(7)};
}

TEST_CASE("a vote takes the least wish of all ranks, and is compared as the call behind it") {
  const NcclVote vote(call(), DeviceRoute::nccl);
  const auto operation = vote.operation();
  const OperationRequest& request = operation->request;
  CHECK(request.kind == OperationKind::all_reduce);
  CHECK(request.reduce == ReduceOp::min);
  CHECK(request.count == 1);
  CHECK(request.timeout == Duration(7));
  CHECK(*static_cast<const int32_t*>(request.input) == 2);
  CHECK(check_request(request, 0, 2).has_value());
  const Descriptor descriptor = Descriptor::of(request);
  CHECK(descriptor.kind == OperationKind::broadcast);
  CHECK(descriptor.count == 5);
  CHECK(descriptor.terms.memory == MemoryKind::connected_device);
  CHECK(label(*operation) == "broadcast");
}

TEST_CASE("the route is the result of the operation") {
  const NcclVote vote(call(), DeviceRoute::nccl);
  *static_cast<int32_t*>(vote.operation()->request.output) = 1;
  CHECK(vote.route() == DeviceRoute::undecided);
}

}  // namespace
}  // namespace dt
