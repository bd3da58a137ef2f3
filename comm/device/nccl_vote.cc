#include "comm/device/nccl_vote.h"

#include "comm/device/nccl_calls.h"

#include <array>

namespace dt {

namespace {

/// The operation and its memory.
struct Cast {
  std::array<int32_t, 2> least = {};  ///< the route; 0: with a slot
  Operation operation = {};
};

}  // namespace

NcclVote::NcclVote(const OperationRequest& call, Wish own) {
  const auto cast = std::make_shared<Cast>();
  cast->least = {static_cast<int32_t>(own.route), own.slot ? 0 : 1};
  OperationRequest& request = cast->operation.request;
  request = announce(call);
  request.kind = OperationKind::all_reduce;
  request.type = ElementType::int32;
  request.reduce = ReduceOp::min;
  request.count = cast->least.size();
  request.input = request.output = cast->least.data();
  operation_ = {cast, &cast->operation};
}

NcclVote::Wish NcclVote::outcome() const {
  const auto* const least = static_cast<const int32_t*>(operation_->request.output);
  return {.route = static_cast<DeviceRoute>(least[0]), .slot = least[1] == 0};
}

}  // namespace dt
