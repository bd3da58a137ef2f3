#pragma once

#include "base/result.h"
#include "launcher/config/config.h"

#include <string>
#include <vector>

namespace dt {

/// What is said to options that decide nothing here (launcher/config/horovod_options.h): a warning
/// for each answer, with the options that get it, or the answer of one that is refused as an error.
Result<std::vector<std::string>> answer_options(const std::vector<OptionSource>& by_precedence);

}  // namespace dt
