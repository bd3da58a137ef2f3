#pragma once

// The home of fmt: `dt::format`, checked at compile time.
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dt {
using fmt::format;
}  // namespace dt
