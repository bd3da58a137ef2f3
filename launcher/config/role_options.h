#pragma once

#include "base/result.h"
#include "launcher/config/config.h"

#include <vector>

namespace dt {

/// Reads -np, --role, --role-command, --role-env, --role-ranked and --role-image into config.roles.
/// -np N is the number of workers, beside the roles of --role. Hosts of roles become the hosts of a
/// job that has none. An external cluster replaces the roles. Requires that cluster, hosts,
/// environment and command are already read.
Result<> read_roles(const OptionSources& sources, const TextReader& read_text, RunConfig& config);

}  // namespace dt
