#pragma once

#include "launcher/config/config.h"

namespace dt {

// The options for hosts and for reaching them, which a job and `dtrain check` both need.

/// Reads --nproc-per-node: a number, or what each host has.
Result<> read_processes(const OptionSources& sources, PlacementOptions& placement);
/// Reads -H, --hostfile, --host-discovery-script or a scheduler of --allocation, from the first
/// source that has one of them. The hosts of the program stay empty: the job runs it.
/// Without them, the hosts are those of the scheduler's job that the environment shows, unless the
/// nodes of the job start by themselves. Requires that --ppn and --nproc-per-node are read.
Result<> read_hosts(const OptionSources& sources, const Environment& environment,
                    const TextReader& read_text, RunConfig& config);

/// How this process was started.
struct ProcessStart {
  const Environment& environment;
  bool on_terminal = false;  ///< standard input is one
};
/// Sets config.nodes where srun starts this process on each node, and --nnodes counts the nodes:
/// the allocation is not for this process alone then. Fails where srun starts it several times
/// without --nnodes. Requires that config.external_cluster is read, and precedes read_hosts.
Result<> find_step_nodes(const OptionSources& sources, const ProcessStart& start,
                         RunConfig& config);
/// Sets config.nodes where --nnodes counts several nodes, and nothing names their hosts. Then it
/// reads the options of such a job, and names its hosts. Requires that hosts are read.
Result<> read_nodes(const OptionSources& sources, const ProcessStart& start, RunConfig& config);
/// Fails for options that a job of nodes cannot have. The command of its only role becomes that of
/// the node, since each node runs its own. Without such a job, it fails where PET_NNODES
/// shows that this command starts on several nodes, each of which would be a world. Requires that
/// all other options are read.
Result<> settle_nodes_job(const OptionSources& sources, const ProcessStart& start,
                          RunConfig& config);

Result<> read_networks(const OptionSources& sources, RunConfig& config);
Result<> read_port_range(const OptionSources& sources, RunConfig& config);
Result<> read_ssh(const OptionSources& sources, LoginOptions& ssh);
/// Reads --srun-args. Requires that the hosts and --ssh are read.
Result<> read_srun_args(const OptionSources& sources, RunConfig& config);
/// Reads torchrun's options for hosts and processes (tables/other_launcher_options.h). Requires
/// that hosts and --ppn are read.
Result<> read_torchrun_layout(const OptionSources& sources, RunConfig& config);

}  // namespace dt
