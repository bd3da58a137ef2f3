#pragma once

#include "base/environment.h"
#include "launcher/config/option_source.h"

#include <string>
#include <vector>

namespace dt {

/// Returns at most two warnings. One names the variables DTRAIN_* that dtrain does not know and the
/// user does not forward. The other names those of horovodrun and torchrun that stand for options
/// there, where no source gives such an option.
std::vector<std::string> stray_variable_warnings(const Environment& environment,
                                                 const OptionSources& sources);

}  // namespace dt
