#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace dt {

/// The variables of a process, by name.
using Environment = std::map<std::string, std::string>;

/// The limit of one NAME=value: with a longer one, execve(2) fails (MAX_ARG_STRLEN).
inline constexpr size_t variable_bytes_max = 131072;

/// Converts "NAME=value" strings, as in environ, to a map. Drops entries without '='.
Environment parse_environment(const std::vector<std::string>& entries);
/// Returns the variables of this process.
Environment process_environment();
/// Returns the working folder of this process: PWD, which keeps links, where that is the same
/// folder. Other hosts may know only this path. Empty when the folder has been removed.
std::string current_folder(const Environment& environment);
std::vector<std::string> environment_entries(const Environment& environment);

}  // namespace dt
