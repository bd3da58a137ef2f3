#pragma once

#include <string>
#include <string_view>

namespace dt {

/// True for a YAML configuration file of horovodrun, by its name, or by a first entry `key:`, which
/// is not valid TOML.
bool is_yaml(std::string_view text, std::string_view path);

/// Returns the error for such a file, in at most four lines: dtrain reads TOML, with these keys for
/// the file's own.
std::string yaml_error(std::string_view text, std::string_view path);

}  // namespace dt
