#include "comm/device/buffer_ranges.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace dt {

namespace {

constexpr size_t alignment = 256;

/// The elements that a rank reads and writes.
struct Counts {
  size_t input = 0;
  size_t output = 0;
};

size_t count_of_parts(const OperationRequest& request) {
  return std::accumulate(request.counts.begin(), request.counts.end(), size_t{0});
}

Counts rooted_counts(const OperationRequest& request, CallingRank self) {
  const size_t part = request.count;
  const size_t whole = part * static_cast<size_t>(self.size);
  const bool at_root = request.peer == self.rank;
  switch (request.kind) {
    case OperationKind::broadcast:
      return {.input = at_root ? part : 0, .output = part};
    case OperationKind::reduce:
      return {.input = part, .output = at_root ? part : 0};
    case OperationKind::gather:
      return {.input = part, .output = at_root ? whole : 0};
    default:
      return {.input = at_root ? whole : 0, .output = part};
  }
}

Counts counts_of(const OperationRequest& request, CallingRank self) {
  const size_t part = request.count;
  const size_t whole = part * static_cast<size_t>(self.size);
  if (is_rooted(request.kind)) return rooted_counts(request, self);
  switch (request.kind) {
    case OperationKind::all_reduce:
      return {.input = part, .output = part};
    case OperationKind::all_gather:
      return {.input = part, .output = whole};
    case OperationKind::reduce_scatter:
      // The engine allocates the result of uneven parts.
      if (!request.counts.empty()) return {.input = count_of_parts(request)};
      return {.input = whole, .output = part};
    case OperationKind::all_to_all:
      return {.input = whole, .output = whole};
    case OperationKind::all_to_all_v:
      return {.input = count_of_parts(request)};
    case OperationKind::all_gather_v:
    case OperationKind::send:
      return {.input = part};
    case OperationKind::receive:
      return {.output = part};
    default:
      return {};
  }
}

BufferRanges ranges_of_tensor(const TensorOfList& tensor) {
  const size_t bytes = tensor.count * element_bytes(tensor.type);
  return {.input = static_cast<const std::byte*>(tensor.input),
          .input_bytes = bytes,
          .output = static_cast<std::byte*>(tensor.output),
          .output_bytes = bytes};
}

bool overlap(const BufferRanges& ranges) {
  const std::less<const std::byte*> before;
  return ranges.input_bytes > 0 && ranges.output_bytes > 0 &&
         before(ranges.input, ranges.output + ranges.output_bytes) &&
         before(ranges.output, ranges.input + ranges.input_bytes);
}

size_t aligned(size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

std::vector<BufferRanges> ranges_of(const OperationRequest& request, CallingRank self) {
  std::vector<BufferRanges> ranges;
  for (const TensorOfList& tensor : request.tensors)
    ranges.push_back(ranges_of_tensor(tensor));
  if (!ranges.empty()) return ranges;
  const Counts counts = counts_of(request, self);
  const size_t bytes = element_bytes(request.type);
  BufferRanges& all = ranges.emplace_back();
  all = {.input = static_cast<const std::byte*>(request.input),
         .input_bytes = counts.input * bytes,
         .output = static_cast<std::byte*>(request.output),
         .output_bytes = counts.output * bytes};
  // A root may leave out the output for its own part.
  if (all.output == nullptr) all.output_bytes = 0;
  return ranges;
}

StagingLayout lay_out(const std::vector<BufferRanges>& ranges) {
  StagingLayout layout;
  for (const BufferRanges& tensor : ranges) {
    StagedPlaces& places = layout.places.emplace_back();
    const size_t begin = layout.bytes;
    places = {.input = begin, .output = begin};
    if (overlap(tensor)) {
      const std::byte* const first = std::min<const std::byte*>(tensor.input, tensor.output);
      places.input += static_cast<size_t>(tensor.input - first);
      places.output += static_cast<size_t>(tensor.output - first);
    } else {
      places.output += aligned(tensor.input_bytes);
    }
    layout.bytes =
        aligned(std::max(places.input + tensor.input_bytes, places.output + tensor.output_bytes));
  }
  return layout;
}

}  // namespace dt
