#pragma once

// The only header that includes fmt, and base/format.cc is the only file that compiles its
// formatting. In each other file, that would take half of the compile time.
#include <fmt/core.h>

#include <string>

namespace dt {

/// The part of format() that does not depend on the types of its arguments.
std::string format_erased(fmt::string_view text, fmt::format_args arguments);

/// fmt::format(): the syntax of std::format, checked at compile time.
template <class... Args>
std::string format(fmt::format_string<Args...> text, Args&&... args) {
  return format_erased(text, fmt::make_format_args(args...));
}

}  // namespace dt
