#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace dt {

/// The command that stands for this process's own executable. That file may lie in a cache or in
/// memory, where no PATH finds it. A program of this name is found as ./self.
inline constexpr std::string_view own_command = "self";

/// Returns the absolute path of the file that a shell in folder `cwd` would run for `command`.
/// `path` is the value of PATH. Fails with Errc::not_found (a shell exits 127) or
/// Errc::not_runnable (126). The path for own_command is that of a link. The kernel
/// resolves it in the process that runs it or in a clone of it.
Result<std::string> find_executable(std::string_view command, std::string_view path,
                                    std::string_view cwd);

/// Returns what is missing, although the file is there: "its interpreter /x does not exist". Empty
/// if there is no such file.
std::string missing_part(const std::string& file);

}  // namespace dt
