#pragma once

#include "launcher/config/config.h"

namespace dt {

/// True for a command line of torchrun: it has an option that only torchrun has.
bool is_torchrun(const OptionSources& sources);
/// Reads torchrun's options for the command and its output. Requires that --output-dir is read.
Result<> read_torchrun_command(const OptionSources& sources, RunConfig& config);

}  // namespace dt
