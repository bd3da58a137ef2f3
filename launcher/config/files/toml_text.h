#pragma once

#include "launcher/config/option.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A string as TOML writes it: "C:\\x". Bytes that are no UTF-8, which no TOML can hold, are shown
/// as \xNN.
std::string toml_string(std::string_view text);
/// An option's values as a file would have them: 4, "30s", ["a:2", "b:2"]. A value of the wrong
/// kind is a string.
std::string toml_value(const Option& option, const std::vector<std::string>& values);

}  // namespace dt
