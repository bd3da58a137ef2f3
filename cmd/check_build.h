#pragma once

#include <string>

namespace dt {

/// What `dtrain run --check-build` prints: in the lines of horovodrun's, so that scripts which look
/// for a tick find it, what this build starts processes by and moves tensors over.
std::string check_build_text();

}  // namespace dt
