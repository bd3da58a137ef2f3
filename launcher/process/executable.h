#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace dt {

/// The file that a shell would run for `command` in folder `cwd` with this PATH, made absolute.
/// Errc::not_found (a shell exits 127) or Errc::not_runnable (126); the message says where was
/// looked.
Result<std::string> find_executable(std::string_view command, std::string_view path,
                                    std::string_view cwd);

}  // namespace dt
