#include "comm/device/nccl_vote.h"

#include "comm/device/nccl_calls.h"

namespace dt {

namespace {

/// The operation and its memory.
struct Cast {
  int32_t value = 0;
  Operation operation = {};
};

}  // namespace

NcclVote::NcclVote(const OperationRequest& call, DeviceRoute own) {
  const auto cast = std::make_shared<Cast>();
  cast->value = static_cast<int32_t>(own);
  OperationRequest& request = cast->operation.request;
  request = announce(call);
  request.kind = OperationKind::all_reduce;
  request.type = ElementType::int32;
  request.reduce = ReduceOp::min;
  request.count = 1;
  request.input = request.output = &cast->value;
  operation_ = {cast, &cast->operation};
}

DeviceRoute NcclVote::route() const {
  return static_cast<DeviceRoute>(*static_cast<const int32_t*>(operation_->request.output));
}

}  // namespace dt
