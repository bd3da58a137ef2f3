#pragma once

#include "base/result.h"

namespace dt {

/// Returns a function of the driver in use, for which the runtime API has no equal. Fails with
/// Errc::unsupported where the driver lacks it.
Result<void*> driver_function(const char* name);

}  // namespace dt
