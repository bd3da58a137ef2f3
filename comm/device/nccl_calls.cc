#include "comm/device/nccl_calls.h"

#include "comm/collective/reduce.h"

#include <memory>
#include <utility>

namespace dt {

std::optional<NcclCall::Kind> nccl_kind(OperationKind kind) {
  using Kind = NcclCall::Kind;
  switch (kind) {
    case OperationKind::all_reduce:
      return Kind::all_reduce;
    case OperationKind::broadcast:
      return Kind::broadcast;
    case OperationKind::all_gather:
      return Kind::all_gather;
    case OperationKind::reduce_scatter:
      return Kind::reduce_scatter;
    case OperationKind::reduce:
      return Kind::reduce;
    case OperationKind::gather:
      return Kind::gather;
    case OperationKind::scatter:
      return Kind::scatter;
    case OperationKind::all_to_all:
      return Kind::all_to_all;
    default:
      return std::nullopt;
  }
}

namespace {

bool can_reduce(ReduceOp op) {
  return op == ReduceOp::average || nccl_op(op).has_value();
}

/// True when the kernels that copy can scale and cast the elements as the engine does.
bool can_copy(const OperationTerms& terms, ElementType type) {
  if (terms.scales() && !is_floating(type)) return false;
  return terms.compression == Compression::none || type == ElementType::float32;
}

bool has_plain_terms(const OperationRequest& request) {
  if (!request.terms) return true;
  const OperationTerms& terms = *request.terms;
  return can_copy(terms, request.type) && !terms.average_active && terms.quorum.ranks == 0 &&
         terms.parts == 0;
}

}  // namespace

bool nccl_can_play(const OperationRequest& request) {
  return nccl_kind(request.kind) && nccl_type(request.type) && request.tensors.empty() &&
         request.counts.empty() && !matches_by_name(request) && has_plain_terms(request) &&
         (!reduces(request.kind) || can_reduce(request.reduce));
}

OperationRequest announce(OperationRequest call) {
  if (!call.terms) call.terms.emplace();
  call.terms->memory = MemoryKind::connected_device;
  OperationRequest request{.kind = OperationKind::barrier,
                           .group = call.group,
                           .name = call.name,
                           .in_sequence = call.in_sequence,
                           .timeout = call.timeout};
  request.announced = std::make_shared<OperationRequest>(std::move(call));
  return request;
}

}  // namespace dt
