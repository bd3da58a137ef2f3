#pragma once

#include <cstddef>

namespace dt {

/// The distance between values that different processes write: two cache lines, because processors
/// fetch lines in pairs.
inline constexpr size_t shared_line_bytes = 128;

}  // namespace dt
