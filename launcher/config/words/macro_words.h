#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dt {

/// The value of {port} and {master_port} before the start of the job decides them.
inline constexpr std::string_view unknown_port = "<port>";

/// True when macros are replaced in this word of a command. False for the first word (the program),
/// for words with white space, and for words after -c or -e. The latter are code with its own
/// braces.
bool takes_macros(std::span<const std::string> command, size_t word);

}  // namespace dt
