#pragma once

#include "launcher/config/config.h"

namespace dt {

// Which hosts there are, and how they are reached: what a job and `dtrain check` both need.

/// -H or --hostfile, of the first source that gives one of them.
Result<> read_hosts(const OptionSources& sources, const TextReader& read_text, RunConfig& config);
Result<> read_networks(const OptionSources& sources, RunConfig& config);
Result<> read_port_range(const OptionSources& sources, RunConfig& config);
Result<> read_ssh(const OptionSources& sources, LoginOptions& ssh);

}  // namespace dt
