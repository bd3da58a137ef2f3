#pragma once

#include "comm/schedule/operation_request.h"
#include "gpu/nccl/nccl_call.h"

#include <optional>

namespace dt {

/// Returns the kind of NCCL's collective; none for others.
std::optional<NcclCall::Kind> nccl_kind(OperationKind kind);

/// True for a collective that NCCL can run. The same on all ranks, if they make the same call.
/// False for parts of several sizes, quorums, types that NCCL lacks, scales of whole numbers, and
/// compression of float64. Also for the minimum and maximum of floats, where NCCL drops a NaN.
/// Elements of one byte are moved, also where NCCL does not reduce them, as booleans and 8-bit
/// floats.
bool nccl_can_run(const OperationRequest& request);

}  // namespace dt
