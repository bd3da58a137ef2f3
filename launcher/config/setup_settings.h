#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/option_source.h"

namespace dt {

/// Reads --setup and the options that belong to it into config.setup.
Result<> read_setup(const OptionSources& sources, RunConfig& config);

}  // namespace dt
