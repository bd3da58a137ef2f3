#pragma once

#include <string_view>

namespace dt {

/// This build's version, as `dtrain version` prints it.
extern const std::string_view build_version;

}  // namespace dt
