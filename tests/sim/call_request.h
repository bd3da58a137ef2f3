#pragma once

#include "tests/sim/program.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace dt {

/// True when the call may have its input and its output in one buffer.
inline bool may_be_in_place(OperationKind kind) {
  return reduces(kind) || kind == OperationKind::all_to_all;
}

/// Returns the bytes of this rank's input.
inline Bytes input_bytes(const Call& call, int rank, int size) {
  const size_t bytes = element_bytes(call.type);
  Bytes input(input_count(call, rank, size) * bytes);
  for (size_t i = 0; i * bytes < input.size(); ++i)
    store(call.type, input.data() + i * bytes, input_value(call, rank, i));
  return input;
}

/// Returns the call as this rank makes it, with its buffers. They have `input_bytes()`, and room
/// for the output. `size`: of the group.
inline OperationRequest request_of(const Call& call, int rank, int size, const std::byte* input,
                                   std::byte* output) {
  const bool receives = call.is_message() && call.to == rank;
  OperationRequest request{.kind = receives ? OperationKind::receive : call.kind,
                           .type = call.type,
                           .reduce = call.reduce,
                           .peer = call.root,
                           .count = call.count,
                           .input = input,
                           .output = output,
                           .name = call.name,
                           .in_sequence = !call.by_name,
                           .priority = call.by_name ? call.priority + rank : 0};
  if (call.kind == OperationKind::all_to_all_v) request.counts = split_counts(call, rank, size);
  if (call.kind == OperationKind::all_gather_v) request.count = ragged_count(call, rank);
  if (has_own_counts(call.kind) || call.kind == OperationKind::join)
    request.result = std::make_shared<OperationResult>();
  const OperationTerms terms = {.prescale = call.prescale,
                                .postscale = call.postscale,
                                .average_active = call.average_active,
                                .compression = call.compression};
  if (terms != OperationTerms()) request.terms = terms;
  request.tensors = tensors_of(call, request);
  if (call.is_message()) request.peer = receives ? call.from : call.to;
  return request;
}

/// True when this rank has got the right result: in `output`, or in the operation's own.
inline bool has_right_result(const Call& call, int rank, int size, const OperationRequest& request,
                             std::span<const std::byte> output) {
  if (has_own_counts(call.kind)) {
    const Bytes parts = expected_parts(call, rank, size);
    return request.result->counts == received_counts(call, rank, size) &&
           std::equal(parts.begin(), parts.end(), request.result->at());
  }
  const Bytes wanted = expected_output(call, rank, size);
  return output.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), output.begin());
}

}  // namespace dt
