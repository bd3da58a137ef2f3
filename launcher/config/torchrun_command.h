#pragma once

#include "launcher/config/config.h"
#include "launcher/config/option_value.h"

namespace dt {

/// True for a command line of torchrun: it has an option that only torchrun has.
bool is_torchrun(const OptionSources& sources);
/// True for an option of torchrun that dtrain refuses, with a value by which torchrun does nothing
/// that dtrain does not do.
bool changes_nothing(const OptionSources& sources, const OptionValue& given);
/// Reads torchrun's options for the command and its output, and the variable PYTHON_EXEC. Requires
/// that --output-dir is read.
Result<> read_torchrun_command(const OptionSources& sources, const Environment& environment,
                               RunConfig& config);

}  // namespace dt
