#pragma once

#include "base/result.h"
#include "launcher/config/config.h"

#include <vector>

namespace dt {

/// What -np, --role, --role-command, --role-env and --role-ranked make of a job: config.roles.
/// -np N is the number of workers, beside the roles that are given. Roles with hosts name the hosts
/// of a job that has none. A given cluster has the roles instead. It, the hosts, the environment
/// and the command are read before.
Result<> read_roles(const OptionSources& sources, const TextReader& read_text, RunConfig& config);

}  // namespace dt
