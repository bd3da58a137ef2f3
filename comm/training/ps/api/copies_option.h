#pragma once

#include "base/result.h"

#include <cstdint>

namespace dt {

/// Returns the number of copies of each variable that a job's parameter servers keep. `given` is a
/// field of the caller; 0: the value of DTRAIN_PS_REPLICAS, which may be null, decides. Fails with
/// Errc::input, which names the field or the variable.
Result<uint32_t> ps_copies(const char* field, int given, const char* variable);

}  // namespace dt
