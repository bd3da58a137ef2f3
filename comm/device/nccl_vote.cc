#include "comm/device/nccl_vote.h"

#include <array>
#include <cstdint>
#include <utility>

namespace dt {

namespace {

/// The operation and its memory.
struct Cast {
  std::array<int32_t, 2> least = {};  ///< the route; 1: with a slot
  Operation operation = {};
};

}  // namespace

NcclVote::NcclVote(OperationRequest call, Choice own) {
  const auto cast = std::make_shared<Cast>();
  cast->least = {static_cast<int32_t>(own.route), own.slot ? 1 : 0};
  if (!call.terms) call.terms.emplace();
  call.terms->memory = MemoryKind::connected_device;
  OperationRequest& request = cast->operation.request;
  request = {.kind = OperationKind::all_reduce,
             .type = ElementType::int32,
             .reduce = ReduceOp::min,
             .group = call.group,
             .count = cast->least.size(),
             .input = cast->least.data(),
             .output = cast->least.data(),
             .name = call.name,
             .in_sequence = call.in_sequence,
             .timeout = call.timeout};
  request.announced = std::make_shared<OperationRequest>(std::move(call));
  operation_ = {cast, &cast->operation};
}

NcclVote::Choice NcclVote::outcome() const {
  const auto* const least = static_cast<const int32_t*>(operation_->request.output);
  return {.route = static_cast<DeviceRoute>(least[0]), .slot = least[1] == 1};
}

}  // namespace dt
