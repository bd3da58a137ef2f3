#pragma once

#include <string>
#include <string_view>

namespace dt {

/// True for a YAML configuration file of horovodrun, by its name or its first entry. An entry
/// `key:` is not valid TOML. An entry `key:` is not valid TOML.
bool is_yaml(std::string_view text, std::string_view path);

/// Returns the error for such a file, in at most four lines. It has the keys of TOML for the file's
/// own.
std::string yaml_error(std::string_view text, std::string_view path);

}  // namespace dt
