#include "comm/device/staged_chunks.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// True when the result of each element depends on that element alone.
bool is_elementwise(const OperationRequest& call) {
  switch (call.kind) {
    case OperationKind::all_reduce:
    case OperationKind::reduce:
      return call.reduce != ReduceOp::adasum;
    case OperationKind::broadcast:
      return true;
    default:
      return false;
  }
}

/// Makes the call's buffers those in pinned memory.
void replace_buffers(OperationRequest& call, const std::vector<BufferRanges>& ranges,
                     const StagingLayout& layout, std::byte* memory) {
  const auto& places = layout.places;
  if (call.tensors.empty()) {
    const BufferRanges& only = ranges.front();
    const bool in_place = call.input == call.output;
    call.output = only.output_bytes > 0 ? memory + places.front().output : nullptr;
    call.input = only.input_bytes > 0 ? memory + places.front().input : nullptr;
    if (in_place && call.input == nullptr) call.input = call.output;
    return;
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].input_bytes == 0) continue;
    call.tensors[i].input = memory + places[i].input;
    call.tensors[i].output = memory + places[i].output;
  }
}

/// Returns the part of a copy that begins at `from` bytes.
MemoryCopy part_of(const MemoryCopy& copy, size_t from, size_t bytes) {
  return {copy.to + from, copy.from + from, bytes};
}

const void* advanced(const void* buffer, size_t bytes) {
  return buffer == nullptr ? nullptr : static_cast<const std::byte*>(buffer) + bytes;
}

/// Returns the operation of some elements of the call, from `begin` on.
std::shared_ptr<Operation> operation_of(const std::shared_ptr<const OperationRequest>& call,
                                        size_t begin, size_t count) {
  auto operation = std::make_shared<Operation>();
  OperationRequest& request = operation->request;
  request = *call;
  const size_t bytes = begin * element_bytes(call->type);
  request.count = count;
  request.input = advanced(call->input, bytes);
  request.output = const_cast<void*>(advanced(call->output, bytes));
  request.announced = call;
  if (!request.terms) return operation;
  // It is that of the whole call.
  request.terms->has_shape = false;
  request.terms->shape.clear();
  return operation;
}

}  // namespace

size_t elements_of_chunk(const OperationRequest& call) {
  const bool whole = !call.tensors.empty() || matches_by_name(call) || call.result;
  if (whole || !is_elementwise(call)) return 0;
  const size_t elements = chunk_bytes / element_bytes(call.type);
  return call.count > 2 * elements ? elements : 0;
}

std::vector<StagedChunk> cut(const std::shared_ptr<Operation>& call,
                             const std::vector<BufferRanges>& ranges, const StagingLayout& layout,
                             std::byte* memory) {
  StagedChunk all{.executed = call};
  for (size_t i = 0; i < ranges.size(); ++i) {
    const BufferRanges& range = ranges[i];
    const StagedPlaces& places = layout.places[i];
    if (range.input_bytes > 0)
      all.inputs.push_back({memory + places.input, range.input, range.input_bytes});
    if (range.output_bytes > 0)
      all.results.push_back({range.output, memory + places.output, range.output_bytes});
  }
  replace_buffers(call->request, ranges, layout, memory);
  const size_t elements = elements_of_chunk(call->request);
  if (elements == 0) return {all};
  const auto announced = std::make_shared<const OperationRequest>(call->request);
  const size_t size = element_bytes(announced->type);
  std::vector<StagedChunk> chunks;
  for (size_t begin = 0; begin < announced->count; begin += elements) {
    const size_t count = std::min(elements, announced->count - begin);
    StagedChunk& chunk = chunks.emplace_back(operation_of(announced, begin, count));
    for (const MemoryCopy& input : all.inputs)
      chunk.inputs.push_back(part_of(input, begin * size, count * size));
    for (const MemoryCopy& result : all.results)
      chunk.results.push_back(part_of(result, begin * size, count * size));
  }
  return chunks;
}

}  // namespace dt
