#include "comm/device/nccl_plan.h"

#include "base/format.h"
#include "comm/collective/reduce.h"
#include "comm/device/nccl_calls.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace dt {

namespace {

ElementType sent_type(const OperationRequest& request, ElementType type) {
  const Compression compression = request.terms ? request.terms->compression : Compression::none;
  switch (compression) {
    case Compression::float16:
      return ElementType::float16;
    case Compression::bfloat16:
      return ElementType::bfloat16;
    case Compression::none:
      break;
  }
  return type;
}

/// NCCL takes an input within the output only at the place of this rank's part. Sends and receives
/// take none that is received into.
bool is_overwritten(const NcclPart& part, int rank) {
  using Kind = NcclCall::Kind;
  if (part.input != part.output) return false;
  if (part.kind == Kind::all_to_all) return true;
  const bool has_parts = part.kind == Kind::all_gather || part.kind == Kind::reduce_scatter ||
                         part.kind == Kind::gather || part.kind == Kind::scatter;
  return has_parts && rank > 0;
}

/// True when NCCL gets a copy of the input.
bool copies_input(const NcclPart& part, int rank) {
  if (part.input_count == 0) return false;
  return part.prescale != 1 || part.sent != part.type || is_overwritten(part, rank);
}

/// True when NCCL's result is copied to the output.
bool copies_result(const NcclPart& part) {
  if (part.output_count == 0) return false;
  return part.postscale != 1 || part.sent != part.type;
}

/// The root of a broadcast or scatter needs no output: its own elements stay where they are.
void set_root_output(NcclPart& part, CallingRank self) {
  using Kind = NcclCall::Kind;
  if (part.output != nullptr || part.root != self.rank) return;
  if (part.kind != Kind::broadcast && part.kind != Kind::scatter) return;
  const size_t before = part.kind == Kind::scatter ? static_cast<size_t>(self.rank) : 0;
  part.output = const_cast<std::byte*>(part.input) + before * part.count * element_bytes(part.type);
}

NcclOp call_op(ReduceOp op) {
  return nccl_op(op_by_nccl(op)).value_or(NcclOp::sum);
}

bool is_reduced(const NcclPart& part) {
  using Kind = NcclCall::Kind;
  return part.kind == Kind::all_reduce || part.kind == Kind::reduce ||
         part.kind == Kind::reduce_scatter;
}

NcclCall call_of(const NcclPart& part) {
  const auto type = is_reduced(part) ? nccl_type(part.sent) : nccl_moved_type(part.sent);
  return {.kind = part.kind,
          .type = type.value(),
          .op = call_op(part.reduce),
          .peer = part.root,
          .count = part.count,
          .from = part.input,
          .to = part.output};
}

std::optional<ArrayReduction> division(const NcclPart& part, CallingRank self, std::byte* result,
                                       size_t count) {
  if (part.reduce != ReduceOp::average || count == 0) return std::nullopt;
  return division_in_place(part.sent, result, count, self.size);
}

/// True when copies of the results can divide floats by the number of ranks, as their factor. They
/// give the bits of a division by a power of two. With a cast or another factor, the division alone
/// would round quotients too small for the type.
bool copies_divide(std::span<const NcclPart> parts, CallingRank self) {
  const NcclPart& first = parts.front();
  return first.reduce == ReduceOp::average && first.sent == first.type &&
         copy_format(first.type) != moved_format(first.type) &&
         std::has_single_bit(static_cast<unsigned>(self.size)) &&
         std::ranges::all_of(parts, [](const NcclPart& part) { return part.postscale == 1; });
}

/// Adds a piece to the batch with its formats and factor.
void add_piece(std::vector<CopyBatch>& batches, const CopyBatch& kind, const CopyPiece& piece) {
  const auto found = std::ranges::find_if(batches, [&](const CopyBatch& batch) {
    return batch.from == kind.from && batch.to == kind.to && batch.factor == kind.factor;
  });
  CopyBatch& batch = found == batches.end() ? batches.emplace_back(kind) : *found;
  batch.pieces.push_back(piece);
}

/// Elements that are not reduced keep their bits.
CopyFormat format_of(const NcclPart& part, ElementType type) {
  return is_reduced(part) ? copy_format(type) : moved_format(type);
}

void copy_in(NcclPlan& plan, const NcclPart& part, std::byte* to) {
  add_piece(plan.before,
            {.from = format_of(part, part.type),
             .to = format_of(part, part.sent),
             .factor = part.prescale},
            {.from = part.input, .to = to, .count = part.input_count});
}

void copy_out(NcclPlan& plan, const NcclPart& part, const std::byte* from) {
  add_piece(plan.after,
            {.from = format_of(part, part.sent),
             .to = format_of(part, part.type),
             .factor = part.postscale},
            {.from = from, .to = part.output, .count = part.output_count});
}

NcclPart make_part(const OperationRequest& request, const BufferRanges& ranges, ElementType type) {
  NcclPart part{.kind = nccl_kind(request.kind).value(),
                .type = type,
                .sent = sent_type(request, type),
                .root = request.peer};
  if (reduces(request.kind)) part.reduce = request.reduce;
  const size_t bytes = element_bytes(type);
  part.input_count = ranges.input_bytes / bytes;
  part.output_count = ranges.output_bytes / bytes;
  part.input = part.input_count > 0 ? ranges.input : nullptr;
  part.output = part.output_count > 0 ? ranges.output : nullptr;
  if (!request.terms) return part;
  part.prescale = request.terms->prescale;
  part.postscale = request.terms->postscale;
  return part;
}

}  // namespace

NcclPart nccl_part(const OperationRequest& request, CallingRank self) {
  NcclPart part = make_part(request, ranges_of(request, self).front(), request.type);
  part.count = request.count;
  set_root_output(part, self);
  return part;
}

NcclPart nccl_part(const OperationRequest& list, const TensorOfList& tensor) {
  const size_t bytes = tensor.count * element_bytes(tensor.type);
  NcclPart part = make_part(list,
                            {.input = static_cast<const std::byte*>(tensor.input),
                             .input_bytes = bytes,
                             .output = static_cast<std::byte*>(tensor.output),
                             .output_bytes = bytes},
                            tensor.type);
  part.count = tensor.count;
  return part;
}

size_t nccl_memory_bytes(const NcclPart& part, CallingRank self) {
  if (copies_input(part, self.rank)) return part.sent_bytes();
  return copies_result(part) ? part.output_count * element_bytes(part.sent) : 0;
}

NcclPlan plan_alone(const NcclPart& part, CallingRank self, std::byte* memory) {
  NcclPlan plan{.call = call_of(part)};
  const bool copies = copies_input(part, self.rank);
  std::byte* result = part.output;
  if (copies) {
    copy_in(plan, part, memory);
    plan.call.from = memory;
  }
  if (copies_result(part)) {
    // In place, where NCCL takes its input in the same memory.
    const bool scatters = part.kind == NcclCall::Kind::reduce_scatter;
    const size_t before = copies && scatters ? static_cast<size_t>(self.rank) : 0;
    result = memory + before * part.count * element_bytes(part.sent);
    plan.call.to = result;
    copy_out(plan, part, result);
  }
  plan.divide = division(part, self, result, part.output_count);
  return plan;
}

NcclPlan plan_together(std::span<const NcclPart> parts, CallingRank self, std::byte* memory) {
  const NcclPart& first = parts.front();
  NcclPlan plan{.call = call_of(first)};
  plan.call.from = plan.call.to = memory;
  plan.call.count = 0;
  std::byte* at = memory;
  const bool divided = copies_divide(parts, self);
  for (NcclPart part : parts) {
    if (divided) part.postscale = 1.0 / self.size;
    copy_in(plan, part, at);
    copy_out(plan, part, at);
    at += part.sent_bytes();
    plan.call.count += part.count;
  }
  if (!divided) plan.divide = division(first, self, memory, plan.call.count);
  return plan;
}

void let_nccl_divide(NcclPlan& plan, CallingRank self) {
  using Kind = NcclCall::Kind;
  // In a reduce, the root alone has a division.
  const bool on_all = plan.call.kind == Kind::all_reduce || plan.call.kind == Kind::reduce_scatter;
  if (!on_all || !plan.divide) return;
  if (!nccl_averages(plan.divide->type, static_cast<size_t>(self.size))) return;
  plan.call.op = NcclOp::average;
  plan.divide.reset();
}

std::string NcclOrder::next_call_name(const std::string& name) {
  return format("{}{}NCCL call {}", name, name.empty() ? "" : ", ", ++calls_with_slot_);
}

}  // namespace dt
