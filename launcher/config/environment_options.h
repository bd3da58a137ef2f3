#pragma once

#include "launcher/config/config.h"

namespace dt {

/// Reads -x, --env-file, --env-exclude, and the options that set variables for Horovod's library.
Result<> read_environment(const OptionSources& sources, const TextReader& read_text,
                          RunConfig& config);
/// Reads --env-set. Requires config.roles, since some sets need certain roles.
Result<> read_env_sets(const OptionSources& sources, RunConfig& config);

}  // namespace dt
