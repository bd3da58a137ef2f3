#pragma once

#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Splits a command line as a POSIX shell does, at blanks and newlines that neither quotes nor a
/// backslash protect. It expands nothing: variables and patterns stay as they are.
Result<std::vector<std::string>> split_shell_words(std::string_view text);

}  // namespace dt
