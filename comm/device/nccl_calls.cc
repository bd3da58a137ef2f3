#include "comm/device/nccl_calls.h"

#include "comm/collective/reduce.h"

#include <algorithm>

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

/// True when the kernels that copy can scale and cast the elements as the engine does.
bool can_copy(const OperationTerms& terms, ElementType type) {
  if (terms.scales() && !is_floating(type)) return false;
  return terms.compression == Compression::none || type == ElementType::float32;
}

bool has_plain_terms(const OperationTerms& terms) {
  return !terms.average_active && terms.quorum.ranks == 0 && terms.parts == 0;
}

}  // namespace

bool nccl_can_run(const OperationRequest& request) {
  if (!nccl_kind(request.kind) || !request.counts.empty()) return false;
  if (request.terms && !has_plain_terms(*request.terms)) return false;
  const auto can_run = [&](ElementType type) {
    const bool runs = reduces(request.kind) ? nccl_can_reduce(type, op_by_nccl(request.reduce))
                                            : nccl_moved_type(type).has_value();
    return runs && (!request.terms || can_copy(*request.terms, type));
  };
  if (request.tensors.empty()) return can_run(request.type);
  // Other ranks may have such a tensor in another list.
  if (!request.tensors.front().name.empty()) return false;
  return std::ranges::all_of(request.tensors,
                             [&](const TensorOfList& tensor) { return can_run(tensor.type); });
}

}  // namespace dt
