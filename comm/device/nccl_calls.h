#pragma once

#include "comm/device/buffer_ranges.h"
#include "comm/device/nccl_connection.h"
#include "comm/schedule/operation_request.h"

#include <memory>

namespace dt {

/// True for a collective that NCCL can play. The same on all ranks, if they make the same call.
/// False for lists, and for collectives that match by name. False for scales, compression, parts of
/// several sizes, types that NCCL lacks, and averages of whole numbers.
bool nccl_can_play(const OperationRequest& request);

/// Returns an operation of the engine before such a call, by which the ranks compare the call. A
/// barrier, unless the caller makes another of it.
OperationRequest announce(OperationRequest call);

/// Returns the task for such a call. Requires that check_request() accepts it.
std::shared_ptr<NcclTask> make_nccl_task(const OperationRequest& request, CallingRank self);

}  // namespace dt
