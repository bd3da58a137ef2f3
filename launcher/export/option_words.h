#pragma once

#include "launcher/config/tables/option.h"

#include <string>
#include <vector>

namespace dt {

/// Returns the words by which `dtrain run` takes these values of an option: -np 4, -x A=1 -x B=2,
/// --no-autotune. They are exact: a value that begins with a dash stands behind an =.
std::vector<std::string> option_words(const Option& option, const std::vector<std::string>& values);

}  // namespace dt
