#include "comm/device/nccl_calls.h"

#include "comm/collective/reduce.h"

#include <optional>
#include <utility>

namespace dt {

namespace {

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

/// An average is a sum, divided at the end.
ReduceOp played_op(ReduceOp op) {
  return op == ReduceOp::average ? ReduceOp::sum : op;
}

bool can_reduce(const OperationRequest& request) {
  if (request.reduce == ReduceOp::average && !is_floating(request.type)) return false;
  return nccl_op(played_op(request.reduce)).has_value();
}

bool has_plain_terms(const OperationRequest& request) {
  if (!request.terms) return true;
  const OperationTerms& terms = *request.terms;
  return !terms.scales() && !terms.average_active && terms.compression == Compression::none &&
         terms.quorum.ranks == 0 && terms.parts == 0;
}

/// NCCL takes an input within the output only at the place of this rank's part. Sends and receives
/// take none that is received into.
bool needs_copy(const NcclCall& call, int rank) {
  using Kind = NcclCall::Kind;
  if (call.from != call.to) return false;
  if (call.kind == Kind::all_to_all) return true;
  const bool has_parts = call.kind == Kind::all_gather || call.kind == Kind::reduce_scatter ||
                         call.kind == Kind::gather || call.kind == Kind::scatter;
  return has_parts && rank > 0;
}

/// The root of a broadcast or scatter needs no output: its own elements stay where they are.
void set_root_output(NcclCall& call, CallingRank self) {
  using Kind = NcclCall::Kind;
  if (call.to != nullptr || call.peer != self.rank) return;
  if (call.kind != Kind::broadcast && call.kind != Kind::scatter) return;
  const size_t before = call.kind == Kind::scatter ? static_cast<size_t>(self.rank) : 0;
  call.to = const_cast<std::byte*>(static_cast<const std::byte*>(call.from)) +
            before * call.count * nccl_bytes(call.type);
}

}  // namespace

bool nccl_can_play(const OperationRequest& request) {
  return nccl_kind(request.kind) && nccl_type(request.type) && request.tensors.empty() &&
         request.counts.empty() && !matches_by_name(request) && has_plain_terms(request) &&
         (!reduces(request.kind) || can_reduce(request));
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

std::shared_ptr<NcclTask> make_nccl_task(const OperationRequest& request, CallingRank self) {
  const BufferRanges ranges = ranges_of(request, self).front();
  auto task = std::make_shared<NcclTask>();
  NcclCall& call = task->call;
  call = {.kind = nccl_kind(request.kind).value(),
          .type = nccl_type(request.type).value(),
          .peer = request.peer,
          .count = request.count,
          .from = ranges.input_bytes > 0 ? ranges.input : nullptr,
          .to = ranges.output_bytes > 0 ? ranges.output : nullptr};
  set_root_output(call, self);
  if (needs_copy(call, self.rank)) task->copied_input_bytes = ranges.input_bytes;
  if (!reduces(request.kind)) return task;
  call.op = nccl_op(played_op(request.reduce)).value();
  if (request.reduce != ReduceOp::average || ranges.output_bytes == 0) return task;
  task->then = ArrayReduction{.type = request.type,
                              .op = ReduceOp::average,
                              .count = ranges.output_bytes / element_bytes(request.type),
                              .sources = {ranges.output},
                              .into = ranges.output,
                              .divisor = self.size};
  return task;
}

}  // namespace dt
