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
std::vector<std::string> environment_entries(const Environment& environment);

}  // namespace dt
