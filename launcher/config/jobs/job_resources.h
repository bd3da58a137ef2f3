#pragma once

#include "base/result.h"
#include "launcher/config/files/toml_document.h"
#include "launcher/config/option_source.h"

#include <string_view>

namespace dt {

/// Adds the options of a role's `resources = {cpus, gpus, memory}`. Fails with Errc::input, with
/// the line and a caret, for a key or a value that is none.
Result<> read_role_resources(const TomlDocument& document, std::string_view role,
                             const TomlEntry& entry, OptionSource& options);

/// Adds the option of a role's `ports = [2222]`. Fails with Errc::input, with the line and a caret.
Result<> read_role_ports(const TomlDocument& document, std::string_view role,
                         const TomlEntry& entry, OptionSource& options);

}  // namespace dt
