#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace dt {

/// The variables of a process, by name.
using Environment = std::map<std::string, std::string>;

/// Linux refuses to execute a program that is given a longer NAME=value (MAX_ARG_STRLEN).
inline constexpr size_t variable_bytes_max = 131072;

/// "NAME=value" strings, as in environ, to a map; entries without '=' are dropped.
Environment parse_environment(const std::vector<std::string>& entries);
std::vector<std::string> environment_entries(const Environment& environment);

}  // namespace dt
