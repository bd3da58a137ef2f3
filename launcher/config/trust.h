#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/option_source.h"
#include "launcher/config/option_value.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// True when this variable with this value chooses the code that runs. Such a variable names
/// programs, libraries or modules that run before or instead of the user's, or their folders. The
/// list has variables of the loader, shells, interpreters, compilers, and libraries of distributed
/// jobs; a program may have others.
bool chooses_code(std::string_view variable, std::string_view value);

/// Fails for options that can start programs, or send or write files, if the user did not name
/// their file.
Result<> check_found_options(const OptionSource& source);
/// Fails for a variable that chooses_code, if the user did not name the file that sets it. Passes a
/// variable without a value: that comes from the user's own environment.
Result<> check_found_variable(const OptionValue& given, const EnvironmentSetting& setting);

}  // namespace dt
