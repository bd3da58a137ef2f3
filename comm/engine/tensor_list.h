#pragma once

#include "comm/schedule/operation_request.h"

#include <memory>
#include <string>
#include <vector>

namespace dt {

/// Returns the named all_reduces of a call of several tensors, `grad[1/3]` to `grad[3/3]` for the
/// name "grad", or by their own names. Each has its list, which ends with the last of them.
std::vector<std::shared_ptr<Operation>> parts_of(const std::shared_ptr<Operation>& list,
                                                 const std::string& name);

}  // namespace dt
