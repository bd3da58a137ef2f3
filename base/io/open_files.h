#pragma once

#include "base/result.h"

#include <cstdint>
#include <string_view>

namespace dt {

/// Returns how many descriptors this process has open.
uint64_t count_open_files();

/// Makes sure that this process may open `more` descriptors. Raises the soft limit when it is too
/// low, and only as far as necessary. Programs that call select(2) fail with high descriptors.
/// Fails with Errc::input, with the numbers, when the hard limit is too low. `for_what` is the
/// plural subject of the message: "14 tasks".
Result<> ensure_open_files(uint64_t more, std::string_view for_what);

}  // namespace dt
