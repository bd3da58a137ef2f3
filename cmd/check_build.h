#pragma once

#include <string>

namespace dt {

/// Returns the output of `dtrain run --check-build`: how this build starts processes, and how it
/// moves tensors. The lines have horovodrun's format, so that scripts that search for a tick work.
std::string check_build_text();

}  // namespace dt
