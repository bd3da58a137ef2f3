#pragma once

#include "comm/schedule/operation_request.h"
#include "comm/schedule/schedule.h"
#include "comm/shared/ceil_div.h"

#include <cstddef>

namespace dt {

// The parts of the members' buffers in reduce_scatter and all_gather. With lanes, each buffer has
// all elements, and a member's part has its own place in all of them.

/// The elements of that member in a buffer that has the parts of all members.
inline Range part_of(const OperationRequest& request, int member) {
  if (request.lanes == 0) return equal_part(request.count, member);
  if (member >= request.lanes) return {request.count, request.count};
  return part_range(request.count, member, request.lanes);
}

/// The place of its own part in a buffer that this member alone has. The buffer is the output of
/// reduce_scatter, or the input of all_gather.
inline Range own_part(const OperationRequest& request, int self) {
  return request.lanes == 0 ? Range{0, request.count} : part_of(request, self);
}

/// The elements of the largest part.
inline size_t part_elements_max(const OperationRequest& request) {
  if (request.lanes == 0) return request.count;
  return ceil_div(request.count, static_cast<size_t>(request.lanes));
}

/// The elements of a buffer that has the parts of all members.
inline size_t whole_elements(const OperationRequest& request, size_t members) {
  return request.lanes == 0 ? request.count * members : request.count;
}

/// Piece `index` of a part, when it is cut into pieces of so many elements.
inline Range piece_of(const Range& part, size_t elements, size_t index) {
  const size_t begin = index * elements < part.count() ? index * elements : part.count();
  const size_t left = part.count() - begin;
  return {part.begin + begin, part.begin + begin + (left < elements ? left : elements), part.place};
}

}  // namespace dt
