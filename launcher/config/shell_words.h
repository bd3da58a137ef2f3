#pragma once

#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The words of a command line as a POSIX shell splits it: at blanks and newlines that neither
/// quotes nor a backslash protect. Nothing is expanded: variables and patterns stay as they are.
Result<std::vector<std::string>> split_shell_words(std::string_view text);

}  // namespace dt
