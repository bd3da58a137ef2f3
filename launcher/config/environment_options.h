#pragma once

#include "launcher/config/config.h"

namespace dt {

/// -x, --env-file, --env-exclude, and the options that are variables for the workers' library.
Result<> read_environment(const OptionSources& sources, const TextReader& read_text,
                          RunConfig& config);
/// --env-set, of which some need roles that the job must have: these are read before.
Result<> read_env_sets(const OptionSources& sources, RunConfig& config);

}  // namespace dt
