#pragma once

#include "comm/collective/terms.h"
#include "comm/schedule/operation_request.h"

#include <cstdint>

namespace dt {

/// True for a reduce_scatter with a count for each rank's part.
bool has_uneven_parts(const OperationRequest& request);
/// Makes such a request an ordinary reduce_scatter, whose parts all have the largest count. Its
/// output is the memory of its result. Requires that check_request() accepts it.
void even_parts(OperationRequest& request, int rank);
/// Copies the parts to their places in the ordinary reduce_scatter, and multiplies them by the
/// prescale. Called when it begins. Does nothing where the caller's input can be used.
void pad_input(OperationRequest& request);

}  // namespace dt
