#pragma once

#include "base/clock.h"
#include "base/color.h"
#include "base/environment.h"
#include "base/result.h"
#include "choices/strategy_name.h"
#include "launcher/config/env_set.h"
#include "launcher/config/external_cluster.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/hosts/port_range.h"
#include "launcher/config/mounts/mount.h"
#include "launcher/config/nodes/node_options.h"
#include "launcher/config/option_source.h"
#include "launcher/config/output/local_streams.h"
#include "launcher/config/placement_options.h"
#include "launcher/config/restarts/restart_options.h"
#include "launcher/config/role.h"
#include "launcher/config/success_options.h"
#include "launcher/config/sync/fetch_options.h"
#include "launcher/config/sync/setup_options.h"
#include "launcher/config/sync/sync_options.h"
#include "launcher/ssh/login_options.h"
#include "rendezvous/cluster/cluster_spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The ranks that read dtrain's standard input.
struct StdinTarget {
  /// unsaid: none, with a warning where input waits.
  enum class Kind : uint8_t { unsaid, none, all, rank };
  Kind kind = Kind::unsaid;
  int rank = 0;
  /// True if a task reads dtrain's input.
  bool is_read() const { return kind == Kind::all || kind == Kind::rank; }
  bool operator==(const StdinTarget&) const = default;
};

/// A variable for the workers. Without a value it is taken from dtrain's own environment.
struct EnvironmentSetting {
  std::string name;
  std::optional<std::string> value;
  std::string origin = "-x";  ///< the place where it is set
  bool operator==(const EnvironmentSetting&) const = default;
};

/// The complete configuration of `dtrain run`: flags over environment over file over defaults.
struct RunConfig {
  std::vector<Role> roles = {Role()};               ///< never empty; names differ
  std::optional<ExternalCluster> external_cluster;  ///< a layout from outside, instead of hosts
  std::vector<Host> hosts;  ///< empty: localhost with as many slots as processes
  HostSource host_source;   ///< of `hosts`; those of a program are found when the job starts
  std::string allocation;   ///< "Slurm job 21", which has the hosts; empty: the user named them
  std::string slurm_job;    ///< SLURM_JOB_ID, if that is a Slurm job
  std::vector<std::string> srun_words;            ///< of --srun-args, for the step of that job
  bool hosts_are_pods = false;                    ///< of Kubernetes, as those of an MPIJob
  std::optional<NodeOptions> nodes;               ///< that start by themselves; none: hosts
  std::vector<EnvironmentSetting> environment;    ///< of two with one name the later wins
  std::vector<std::string> environment_excluded;  ///< patterns of names that are not forwarded
  EnvSets env_sets = default_env_sets();
  bool pass_local_rank = false;
  bool soft_placement = false;  ///< of the strategy's devices
  bool log_placement = false;
  std::optional<StrategyName> strategy;        ///< none: the program decides
  std::optional<Communication> communication;  ///< of the strategy; none: libdtrain decides
  std::string algorithms;                      ///< of collectives; empty: those of libdtrain
  std::string transport = "auto";              ///< of libdtrain: auto, shm or tcp
  std::string devices;                         ///< of the strategy; empty: all
  std::string cross_device_op;                 ///< of the strategy; empty: libdtrain decides
  uint64_t device_memory = 0;                  ///< of the strategy, on each device; 0: no limit
  uint64_t bytes_per_pack = 0;                 ///< of the strategy; 0: libdtrain decides
  Duration strategy_timeout = {};              ///< of the strategy's operations; zero: none
  std::optional<ServerMode> ps_mode;           ///< none: the program decides
  std::optional<int> ps_replicas;  ///< of each variable: 1 or 2; none: the program decides
  std::optional<std::string> chdir;
  std::optional<SyncOptions> sync;    ///< none: no files are copied to the hosts
  std::optional<FetchOptions> fetch;  ///< none: no files come back
  std::optional<SetupOptions> setup;  ///< none: hosts are as a job needs them
  std::vector<Mount> mounts;          ///< folders of the hosts, at other places for the tasks
  std::optional<Duration> timeout;
  PlacementOptions placement;
  LoginOptions ssh;
  Duration start_timeout = seconds(30);
  Duration grace = seconds(10);
  Duration heartbeat = seconds(1);
  Duration dead_after = seconds(5);
  /// The same for the agent of this machine, whose end closes its connection at once. So its
  /// silence mostly means that a process waits for its turn on a busy machine.
  Duration local_dead_after = seconds(60);
  Duration stall_report = seconds(30);  ///< zero: never
  std::optional<PortRange> port_range;  ///< none: any free ports
  std::vector<std::string> networks;    ///< names of interfaces, or ranges of addresses; none: all
  bool oversubscribe = false;
  bool continue_on_failure = false;
  RestartOptions restarts;  ///< of the whole job
  bool dump_stacks = false;
  SuccessOptions success;
  StdinTarget stdin_target;
  bool no_horovod = false;
  bool encrypt_data = false;
  ClusterFilter cluster_filter = ClusterFilter::none;
  bool no_macros = false;
  std::optional<std::string> output_dir;
  std::optional<uint64_t>
      keep_output;  ///< bytes of each task in files; none: all, in a job's 1 GiB
  std::optional<std::string> result_dir;
  std::optional<bool> end_on_lost_output;  ///< none: unless files have the output
  bool merge_stderr = false;
  bool no_line_buffer = false;
  bool no_tag = false;
  bool timestamp = false;
  ColorChoice color = ColorChoice::automatic;
  std::optional<std::string> report;
  std::string name;                    ///< of the job, for people; empty: none
  std::string image;                   ///< of roles without one, for exports; empty: none
  std::vector<int> shown_local_ranks;  ///< whose output the console shows; empty: all
  LocalStreams redirected;             ///< which the console does not show
  bool quiet = false;
  bool verbose = false;
  bool dry_run = false;
  bool json = false;
  bool no_image = false;  ///< images do not count
  std::vector<std::string> command;
  std::vector<std::string> warnings;  ///< of the sources, to be shown once
  std::vector<std::string> notes;     ///< on what the job will do; no faults; to be shown once
  /// True when the job needs a reader of its standard output.
  bool ends_on_lost_output() const { return end_on_lost_output.value_or(!output_dir); }
  bool operator==(const RunConfig&) const = default;
};

/// Returns the image of a role's containers; empty: none.
const std::string& image_of(const RunConfig& config, const Role& role);

/// True for a name that --name takes: it may be a part of the names of files.
bool is_job_name(std::string_view name);

/// Returns the table of --algorithms as --deterministic changes it. libdtrain defines the form.
std::string deterministic_algorithms(const std::string& table);

/// Decides the configuration by flags, environment, file and defaults, in this order. The first
/// source that has an option wins; only lists of variables add up. The options hosts and hostfile
/// count as one. A hostfile's text comes from `read_text`, TF_CONFIG and the variables of
/// schedulers from `environment`. `on_terminal`: standard input is a terminal.
Result<RunConfig> make_run_config(const OptionSources& by_precedence,
                                  std::vector<std::string> command, const TextReader& read_text,
                                  const Environment& environment = {}, bool on_terminal = false);
/// Decides the part that `dtrain check` needs: the hosts, how to reach them, time limits, and the
/// appearance of the output. Without hosts it is those of a scheduler's job, else this machine. It
/// does not read other options.
Result<RunConfig> make_check_config(const OptionSources& by_precedence, const TextReader& read_text,
                                    const Environment& environment = {});

}  // namespace dt
