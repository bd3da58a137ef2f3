#pragma once

#include "base/result.h"
#include "comm/include/dtrain/dtrain.h"

namespace dt {

/// Returns the kind of failure of a status of dtrain.h, which is not DTRAIN_OK.
Errc errc_of(int status);
/// Returns a dtrain_error for a call.
dtrain_error empty_c_error();

}  // namespace dt
