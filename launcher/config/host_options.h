#pragma once

#include "launcher/config/config.h"

namespace dt {

// The options for hosts and for reaching them, which a job and `dtrain check` both need.

/// Reads --nproc-per-node: a number, or what each host has.
Result<> read_processes(const OptionSources& sources, PlacementOptions& placement);
/// Reads -H, --hostfile, --host-discovery-script or a scheduler of --allocation, from the first
/// source that has one of them. The hosts of the program stay empty: the job runs it.
/// Without them, the hosts are those of the scheduler's job that the environment shows. Requires
/// that --ppn and --nproc-per-node are read.
Result<> read_hosts(const OptionSources& sources, const Environment& environment,
                    const TextReader& read_text, RunConfig& config);
Result<> read_networks(const OptionSources& sources, RunConfig& config);
Result<> read_port_range(const OptionSources& sources, RunConfig& config);
Result<> read_ssh(const OptionSources& sources, LoginOptions& ssh);
/// Reads --srun-args. Requires that the hosts and --ssh are read.
Result<> read_srun_args(const OptionSources& sources, RunConfig& config);
/// Reads torchrun's options for hosts and processes (tables/other_launcher_options.h). Requires
/// that hosts and --ppn are read.
Result<> read_torchrun_layout(const OptionSources& sources, RunConfig& config);

}  // namespace dt
