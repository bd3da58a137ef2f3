#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/given.h"
#include "launcher/config/option_source.h"

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
Result<> check_found_variable(const Given& given, const EnvironmentSetting& setting);

/// The options of a file that nobody has named that choose the hosts of the job, or the places that
/// it reads from and writes to, in the order of the option table. Options that another source
/// overrides do not count.
std::vector<std::string> found_destinations(const OptionSources& by_precedence);

}  // namespace dt
