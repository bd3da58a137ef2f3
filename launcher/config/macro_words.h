#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dt {

/// What {port} and {master_port} stand for as long as only the start of a job can decide them.
inline constexpr std::string_view unknown_port = "<port>";

/// True when macros count in this word of a command: it is not the first, holds no white space, and
/// does not follow -c or -e. The others name the program, or are code with braces of its own.
bool takes_macros(std::span<const std::string> command, size_t word);

}  // namespace dt
