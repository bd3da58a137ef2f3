#pragma once

#include "launcher/config/tables/option.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Returns a string in TOML's syntax: "C:\\x". Bytes that are not UTF-8, which TOML cannot contain,
/// become \xNN.
std::string toml_string(std::string_view text);
/// Returns an option's values in TOML's syntax: 4, "30s", ["a:2", "b:2"]. A value of the wrong kind
/// becomes a string.
std::string toml_value(const Option& option, const std::vector<std::string>& values);

}  // namespace dt
