#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace dt {

/// Returns the absolute path of the file that a shell in folder `cwd` would run for `command`.
/// `path` is the value of PATH. Fails with Errc::not_found (a shell exits 127) or
/// Errc::not_runnable (126); the message names the PATH that was searched.
Result<std::string> find_executable(std::string_view command, std::string_view path,
                                    std::string_view cwd);

}  // namespace dt
