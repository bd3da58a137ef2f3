#pragma once

#include <string>
#include <string_view>

namespace dt {

/// Whether a configuration file is YAML, as horovodrun reads it: by its name, or because its first
/// entry is `key:`, which no TOML begins with.
bool is_yaml(std::string_view text, std::string_view path);

/// What to say of such a file, in at most four lines: that dtrain reads TOML, and which keys stand
/// there for what it has.
std::string yaml_answer(std::string_view text, std::string_view path);

}  // namespace dt
