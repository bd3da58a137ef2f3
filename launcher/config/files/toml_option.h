#pragma once

#include "base/result.h"
#include "launcher/config/files/toml_document.h"
#include "launcher/config/option_source.h"
#include "launcher/config/tables/option.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Returns a value as an option of this kind has it on a command line; none for a value of another
/// kind.
std::optional<std::vector<std::string>> toml_values(const TomlValue& value, OptionKind kind);
/// Returns the option that a key means. Fails with Errc::input, and with the nearest name, where
/// there is none, or where it cannot stand in a file.
Result<const Option*> toml_option(const TomlDocument& document, const TomlEntry& entry,
                                  std::string_view name);
/// Adds an entry's value to the options, as written on a command line, with its place. Fails with
/// Errc::input for a value of the wrong kind.
Result<> add_toml_option(const TomlDocument& document, const TomlEntry& entry, const Option& option,
                         OptionSource& options);

}  // namespace dt
