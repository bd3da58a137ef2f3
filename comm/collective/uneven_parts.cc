#include "comm/collective/uneven_parts.h"

#include "base/kernels/scale.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace dt {

namespace {

/// FNV-1a over the bytes of the counts, 64 bits; never 0.
uint64_t hash_of(const std::vector<size_t>& counts) {
  uint64_t hash = 14695981039346656037U;
  for (uint64_t count : counts)
    for (int byte = 0; byte < 8; ++byte, count >>= 8)
      hash = (hash ^ (count & 0xff)) * 1099511628211U;
  return std::max(hash, uint64_t{1});
}

}  // namespace

bool has_uneven_parts(const OperationRequest& request) {
  return request.kind == OperationKind::reduce_scatter && !request.counts.empty();
}

void even_parts(OperationRequest& request, int rank) {
  request.count = std::ranges::max(request.counts);
  if (!request.terms) request.terms.emplace();
  request.terms->parts = hash_of(request.counts);
  OperationResult& result = *request.result;
  result.data = std::make_unique_for_overwrite<std::byte[]>(bytes_of(request));
  result.counts.assign(1, request.counts[static_cast<size_t>(rank)]);
  request.output = result.data.get();
}

void pad_input(OperationRequest& request) {
  const bool even = std::ranges::adjacent_find(request.counts, std::ranges::not_equal_to()) ==
                    request.counts.end();
  if (even || request.scaled_input) return;
  const size_t bytes = element_bytes(request.type);
  const size_t part = request.count * bytes;
  request.scaled_input = std::make_shared<std::byte[]>(request.counts.size() * part);
  std::byte* to = request.scaled_input.get();
  const auto* from = static_cast<const std::byte*>(request.input);
  for (const size_t count : request.counts) {
    if (count > 0) std::memcpy(to, from, count * bytes);
    from += count * bytes;
    to += part;
  }
  std::byte* padded = request.scaled_input.get();
  const double factor = request.terms->prescale;
  if (factor != 1)
    Scale(request.type, factor).apply(padded, padded, request.counts.size() * request.count);
  request.input = padded;
}

}  // namespace dt
