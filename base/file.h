#pragma once

#include "base/result.h"

#include <cstddef>
#include <string>

namespace dt {

/// A file's text, at most `bytes_max`; pipes work too. The error is errno's text or the size.
/// Errc::not_found where there is no such file.
Result<std::string> read_text_file(const std::string& path, size_t bytes_max);

}  // namespace dt
