#pragma once

#include "base/clock.h"
#include "base/color.h"
#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/env_set.h"
#include "launcher/config/external_cluster.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/hosts/port_range.h"
#include "launcher/config/option_source.h"
#include "launcher/config/placement_options.h"
#include "launcher/config/role.h"
#include "launcher/config/success_options.h"
#include "launcher/ssh/login_options.h"
#include "rendezvous/cluster/cluster_spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Who reads dtrain's standard input.
struct StdinTarget {
  enum class Kind : uint8_t { none, all, rank };
  Kind kind = Kind::none;
  int rank = 0;
  bool operator==(const StdinTarget&) const = default;
};

/// A variable for the workers: with a value, or taken from dtrain's own environment.
struct EnvironmentSetting {
  std::string name;
  std::optional<std::string> value;
  std::string origin = "-x";  ///< where it was written
  bool operator==(const EnvironmentSetting&) const = default;
};

/// `dtrain run` with everything decided: flags over environment over file over defaults.
struct RunConfig {
  std::vector<Role> roles = {Role()};            ///< never empty; names differ
  std::optional<ExternalCluster> given_cluster;  ///< somebody else's layout, instead of hosts
  std::vector<Host> hosts;  ///< empty: localhost with as many slots as processes
  std::vector<EnvironmentSetting> environment;    ///< a later one of a name wins
  std::vector<std::string> environment_excluded;  ///< patterns of names that do not travel
  EnvSets env_sets = default_env_sets();
  bool pass_local_rank = false;
  std::optional<std::string> chdir;
  std::optional<Duration> timeout;
  PlacementOptions placement;
  LoginOptions ssh;
  Duration start_timeout = seconds(30);
  Duration grace = seconds(10);
  Duration heartbeat = seconds(1);
  Duration dead_after = seconds(5);
  std::optional<PortRange> port_range;  ///< none: any free ports
  std::vector<std::string> networks;    ///< names of interfaces, or ranges of addresses; none: all
  bool oversubscribe = false;
  bool continue_on_failure = false;
  SuccessOptions success;
  StdinTarget stdin_target;
  bool no_horovod = false;
  ClusterFilter cluster_filter = ClusterFilter::none;
  bool no_macros = false;
  std::optional<std::string> output_dir;
  bool merge_stderr = false;
  bool no_tag = false;
  bool timestamp = false;
  ColorChoice color = ColorChoice::automatic;
  std::optional<std::string> report;
  bool quiet = false;
  bool verbose = false;
  bool dry_run = false;
  bool json = false;
  std::vector<std::string> command;
  std::vector<std::string> warnings;  ///< from reading it, to be shown once
  bool operator==(const RunConfig&) const = default;
};

/// Flags, then environment, then file, then defaults: the first that names an option wins whole.
/// hosts and hostfile are one choice. A hostfile's text comes from `read_text`, TF_CONFIG from
/// `environment`.
Result<RunConfig> make_run_config(const OptionSources& by_precedence,
                                  std::vector<std::string> command, const TextReader& read_text,
                                  const Environment& environment = {});
/// The part of it that `dtrain check` needs: which hosts (this machine when none are given), how to
/// reach them, how long to wait, and how to look. What only a job needs is not even read.
Result<RunConfig> make_check_config(const OptionSources& by_precedence,
                                    const TextReader& read_text);

}  // namespace dt
