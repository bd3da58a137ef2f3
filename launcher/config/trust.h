#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/option_source.h"
#include "launcher/config/option_value.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// True when this variable with this value chooses the code that runs: it names programs, libraries
/// or modules that are loaded before or instead of the user's, or the places where they are found.
/// The list has the variables of the loader, shells, interpreters, compilers, and of the libraries
/// that distributed jobs load; a program may have others.
bool chooses_code(std::string_view variable, std::string_view value);

/// Refuses options that can make programs run, if nobody has named their file.
Result<> check_found_options(const OptionSource& source);
/// Refuses a variable that chooses what runs, if nobody has named the file of the option by which
/// it is set. One without a value is the user's own.
Result<> check_found_variable(const OptionValue& given, const EnvironmentSetting& setting);

}  // namespace dt
