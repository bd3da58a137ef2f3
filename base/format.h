#pragma once

// The home of fmt. Only base/format.cc contains it: in each file that formats a line it would be
// half of the time that these take to compile.
#include <fmt/core.h>

#include <string>

namespace dt {

/// What format() does once the types of its arguments are erased.
std::string format_erased(fmt::string_view text, fmt::format_args arguments);

/// fmt::format(): std::format's language, checked when it is compiled.
template <class... Args>
std::string format(fmt::format_string<Args...> text, Args&&... args) {
  return format_erased(text, fmt::make_format_args(args...));
}

}  // namespace dt
