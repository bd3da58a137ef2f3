#pragma once

#include "base/environment.h"
#include "base/io/log.h"
#include "launcher/config/config.h"
#include "launcher/connect/dialed_hosts.h"

#include <optional>

namespace dt {

/// Returns how srun starts the agents, if the hosts are those of a Slurm job and the user chose no
/// way to reach them. None otherwise, and, with a line in the log, where srun is not in PATH.
std::optional<DialedHosts::Options> dialed_by_srun(const RunConfig& config,
                                                   const Environment& environment, Log& log);

}  // namespace dt
