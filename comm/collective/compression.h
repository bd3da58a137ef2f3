#pragma once

#include "comm/collective/terms.h"
#include "comm/schedule/operation_request.h"

#include <string_view>

namespace dt {

/// "float16"; "none".
std::string_view compression_name(Compression compression);

/// Fails with Errc::input when the call cannot be compressed.
Result<> check_compression(const OperationRequest& request);
/// Scales the input of a reduction and converts it to its compression, in memory of its own, before
/// it begins. Requires terms.
void prepare_input(OperationRequest& request, ScalingRank self);
/// Converts the result back into the caller's output, restores type and output, and scales it. The
/// counts of a result of the engine become those of its elements.
void complete_result(OperationRequest& request, ScalingRank self);

}  // namespace dt
