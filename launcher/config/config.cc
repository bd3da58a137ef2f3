#include "launcher/config/config.h"

#include "base/format.h"
#include "base/text.h"
#include "choices/cross_device_rules.h"
#include "launcher/config/cluster_options.h"
#include "launcher/config/environment_options.h"
#include "launcher/config/horovod_settings.h"
#include "launcher/config/host_options.h"
#include "launcher/config/option_value.h"
#include "launcher/config/restart_settings.h"
#include "launcher/config/role_options.h"
#include "launcher/config/setup_settings.h"
#include "launcher/config/sync_settings.h"
#include "launcher/config/torchrun_command.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace dt {

const std::string& image_of(const RunConfig& config, const Role& role) {
  return role.image.empty() ? config.image : role.image;
}

bool is_job_name(std::string_view name) {
  constexpr size_t bytes_max = 63;
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto allowed = [&](char c) { return plain(c) || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && name.size() <= bytes_max && plain(name.front()) &&
         std::ranges::all_of(name, allowed);
}

std::string deterministic_algorithms(const std::string& table) {
  return table.empty() ? "deterministic" : "deterministic," + table;
}

namespace {

Result<> read_flags(const OptionSources& sources, RunConfig& config) {
  struct Flag {
    std::string_view name;
    bool RunConfig::*member;
  };
  constexpr Flag flags[] = {{"oversubscribe", &RunConfig::oversubscribe},
                            {"no-horovod", &RunConfig::no_horovod},
                            {"encrypt-data", &RunConfig::encrypt_data},
                            {"no-macros", &RunConfig::no_macros},
                            {"pass-local-rank", &RunConfig::pass_local_rank},
                            {"merge-stderr", &RunConfig::merge_stderr},
                            {"no-line-buffer", &RunConfig::no_line_buffer},
                            {"dump-stacks", &RunConfig::dump_stacks},
                            {"no-tag", &RunConfig::no_tag},
                            {"timestamp", &RunConfig::timestamp},
                            {"quiet", &RunConfig::quiet},
                            {"verbose", &RunConfig::verbose},
                            {"dry-run", &RunConfig::dry_run},
                            {"json", &RunConfig::json}};
  for (const Flag& flag : flags) {
    if (const auto given = find_option(sources, flag.name)) {
      config.*flag.member = TRY(given->flag());
    }
  }
  const auto json = find_option(sources, "json");
  if (json && config.json && !config.dry_run) {
    return json->refuse("only --dry-run prints JSON; give both, or neither");
  }
  return {};
}

constexpr Duration pods_start_timeout = seconds(300);
/// A shorter interval would keep both sides busy with heartbeats.
constexpr Duration heartbeat_min = milliseconds(10);

Result<> read_durations(const OptionSources& sources, RunConfig& config) {
  struct Setting {
    std::string_view name;
    Duration RunConfig::*member;
  };
  constexpr Setting settings[] = {{"start-timeout", &RunConfig::start_timeout},
                                  {"heartbeat", &RunConfig::heartbeat},
                                  {"dead-after", &RunConfig::dead_after}};
  for (const Setting& setting : settings) {
    if (const auto given = find_option(sources, setting.name)) {
      config.*setting.member = TRY(given->positive_duration());
    }
  }
  if (find_option(sources, "dead-after")) config.local_dead_after = config.dead_after;
  if (const auto given = find_option(sources, "heartbeat");
      given && config.heartbeat < heartbeat_min) {
    return given->expected("at least " + duration_text(heartbeat_min));
  }
  if (const auto given = find_option(sources, "timeout"))
    config.timeout = TRY(given->positive_duration());
  if (const auto given = find_option(sources, "grace")) {
    config.grace = TRY(given->duration());  // 0 is SIGKILL at once
  }
  if (const auto given = find_option(sources, "stall-report"))
    config.stall_report = TRY(given->duration());  // 0 reports none
  if (config.heartbeat < config.dead_after) return {};
  auto given = find_option(sources, "heartbeat");
  if (!given) given = find_option(sources, "dead-after");
  assert(given && "the defaults fit");
  return given->refuse(format("the heartbeat ({}) must be shorter than the dead-after time ({})",
                              duration_text(config.heartbeat), duration_text(config.dead_after)));
}

/// Pods may start after their launcher, and their names are published later still. The last tenth
/// is for the other steps of the start: a host that is missing is then reported with the reason.
void wait_for_pods(const OptionSources& sources, RunConfig& config) {
  if (!config.hosts_are_pods) return;
  if (!find_option(sources, "start-timeout")) config.start_timeout = pods_start_timeout;
  if (!config.ssh.connect_timeout) config.ssh.connect_timeout = config.start_timeout * 9 / 10;
}

Result<> read_color(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "color");
  if (!given) return {};
  const std::string choice = TRY(given->choice());
  config.color = parse_color_choice(choice).value();
  return {};
}

Result<> read_stdin(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "stdin");
  if (!given) return {};
  if (given->value() == "none" || given->value() == "all") {
    config.stdin_target.kind =
        given->value() == "all" ? StdinTarget::Kind::all : StdinTarget::Kind::none;
    return {};
  }
  // The last rank is unknown as long as only the hosts know their slots.
  const bool known = !config.placement.per_host && !config.hosts.empty() &&
                     std::ranges::all_of(config.hosts, [](const Host& h) { return h.slots > 0; });
  const int slots = std::accumulate(config.hosts.begin(), config.hosts.end(), 0,
                                    [](int sum, const Host& h) { return sum + h.slots; });
  const int count = ranked_count(config.roles);
  const int size = count != 0 ? count : known ? slots : processes_max;
  const std::optional<int64_t> rank = parse_integer(given->value());
  if (!rank || *rank < 0 || *rank >= size) {
    return given->expected(format("none, all or a rank of 0..{}", size - 1));
  }
  config.stdin_target = {.kind = StdinTarget::Kind::rank, .rank = static_cast<int>(*rank)};
  return {};
}

Result<> read_engine(const OptionSources& sources, RunConfig& config) {
  if (const auto given = find_option(sources, "transport")) {
    config.transport = TRY(given->choice());
  }
  if (const auto given = find_option(sources, "algorithms")) {
    config.algorithms = TRY(given->text("a table of algorithms"));
  }
  if (const auto given = find_option(sources, "deterministic")) {
    const bool deterministic = TRY(given->flag());
    if (deterministic) config.algorithms = deterministic_algorithms(config.algorithms);
  }
  if (config.communication == Communication::ring && config.algorithms.empty())
    config.algorithms = "ring";
  return {};
}

Result<> read_strategy_limits(const OptionSources& sources, RunConfig& config) {
  struct Size {
    std::string_view name;
    uint64_t RunConfig::*member;
  };
  for (const Size& size : {Size{"bytes-per-pack", &RunConfig::bytes_per_pack},
                           Size{"device-memory", &RunConfig::device_memory}}) {
    const auto given = find_option(sources, size.name);
    if (!given) continue;
    const auto bytes = parse_size(given->value());
    if (!bytes || *bytes == 0) return given->expected("a size from 1, such as 65536, 64K or 4M");
    config.*size.member = *bytes;
  }
  if (const auto given = find_option(sources, "strategy-timeout")) {
    config.strategy_timeout = TRY(given->positive_duration());
    constexpr Duration most = milliseconds(std::numeric_limits<int>::max());
    if (config.strategy_timeout > most) return given->expected("at most " + duration_text(most));
  }
  return {};
}

Result<> read_strategy(const OptionSources& sources, RunConfig& config) {
  if (const auto given = find_option(sources, "strategy")) {
    const auto name = parse_strategy_name(given->value());
    if (!name) return given->refuse(name.error().message);
    config.strategy = *name;
  }
  if (const auto given = find_option(sources, "devices"))
    config.devices = TRY(given->text("names of devices"));
  if (const auto given = find_option(sources, "soft-placement"))
    config.soft_placement = TRY(given->flag());
  if (const auto given = find_option(sources, "log-placement"))
    config.log_placement = TRY(given->flag());
  if (const auto given = find_option(sources, "cross-device-op")) {
    const auto name = parse_cross_device_rules(given->value());
    if (!name) return given->refuse(name.error().message);
    config.cross_device_op = given->value();
  }
  if (const auto given = find_option(sources, "communication")) {
    const auto name = parse_communication(given->value());
    if (!name) return given->refuse(name.error().message);
    config.communication = *name;
  }
  if (const auto given = find_option(sources, "ps-mode")) {
    const auto mode = parse_server_mode(given->value());
    if (!mode) return given->refuse(mode.error().message);
    config.ps_mode = *mode;
  }
  if (const auto given = find_option(sources, "ps-replicas")) {
    const int64_t replicas = TRY(given->integer(1, 2));
    config.ps_replicas = static_cast<int>(replicas);
    config.success.servers_replicated = replicas > 1;
  }
  return read_strategy_limits(sources, config);
}

/// Servers that do not need all workers let the training continue without some.
Result<> read_min_workers(const OptionSources& sources, RunConfig& config) {
  const bool spares = config.strategy == StrategyName::parameter_server && config.ps_mode &&
                      !config.ps_mode->needs_all();
  config.success.workers_min = spares ? 1 : 0;
  const auto given = find_option(sources, "min-workers");
  if (!given) return {};
  const int64_t least = TRY(given->integer(1, processes_max));
  config.success.workers_min = static_cast<int>(least);
  return {};
}

/// Servers' options without servers change nothing, which a user would not notice.
void warn_of_unused_server_options(const OptionSources& sources, RunConfig& config) {
  const auto other = StrategyName::parameter_server;
  const bool serves =
      config.external_cluster ||
      (std::ranges::any_of(config.roles, [](const Role& role) { return role.name == "ps"; }) &&
       config.strategy.value_or(other) == other);
  if (serves) return;
  for (const std::string_view name : {"ps-mode", "ps-replicas"}) {
    const auto given = find_option(sources, name);
    if (!given) continue;
    config.warnings.push_back(
        format("{}: no effect without --role ps=N and --strategy "
               "parameter_server",
               given->origin));
  }
}

Result<> read_texts(const OptionSources& sources, RunConfig& config) {
  if (const auto given = find_option(sources, "chdir")) config.chdir = TRY(given->text("a folder"));
  if (const auto given = find_option(sources, "output-dir")) {
    config.output_dir = TRY(given->text("a folder"));
  }
  if (const auto given = find_option(sources, "keep-output")) {
    const auto bytes = parse_size(given->value());
    if (!bytes) return given->expected("a size, such as 100M or 1G");
    config.keep_output = bytes;
  }
  if (const auto given = find_option(sources, "result-dir")) {
    config.result_dir = TRY(given->text("a folder"));
  }
  if (const auto given = find_option(sources, "report")) {
    config.report = TRY(given->text("a file"));
    if (config.report == "-") {
      return given->refuse("standard output is the workers'; give a file, or /dev/stderr");
    }
  }
  if (const auto given = find_option(sources, "name")) {
    config.name = given->value();
    if (!is_job_name(config.name)) {
      return given->expected("letters, digits, -, _ and ., a letter or digit first, 63 at most");
    }
  }
  if (const auto given = find_option(sources, "on-lost-output")) {
    const std::string choice = TRY(given->choice());
    config.end_on_lost_output = choice == "end";
  }
  if (const auto given = find_option(sources, "on-failure")) {
    const std::string choice = TRY(given->choice());
    config.continue_on_failure = choice == "continue";
  }
  return {};
}

/// A command may name the mount of another source, so all are read before the check.
Result<> read_mounts(const OptionSources& sources, RunConfig& config) {
  const auto mounts = find_option(sources, "mount");
  const auto commands = find_option(sources, "mount-command");
  if (!mounts && commands)
    return commands->refuse("without --mount SOURCE:TARGET, there is no mount to make");
  if (!mounts) return {};
  for (const std::string& text : *mounts->values) {
    if (const auto added = add_mount(config.mounts, text); !added)
      return mounts->refuse(added.error().message);
  }
  if (commands) {
    for (const std::string& text : *commands->values) {
      if (const auto set = set_mount_command(config.mounts, text); !set)
        return commands->refuse(set.error().message);
    }
  }
  if (const auto checked = check_mount_sources(config.mounts); !checked)
    return mounts->refuse(checked.error().message);
  return {};
}

Result<> read_cluster_filter(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "cluster-filter");
  if (!given) return {};
  const std::string choice = TRY(given->choice());
  config.cluster_filter = choice == "ps" ? ClusterFilter::ps : ClusterFilter::none;
  return {};
}

Result<> check_command(const OptionSources& sources, const RunConfig& config) {
  if (!config.command.empty() && !config.command[0].empty()) return {};
  // The forgotten number of -np has taken the command's word.
  const auto np = find_option(sources, "np");
  if (np && config.command.empty() && !parse_integer(np->value())) return np->expected("a number");
  // Without quotes, a shell cuts --cluster-spec at the first | or ;. The rest may be valid.
  const bool cut = config.external_cluster && !config.external_cluster->task;
  return fail(Errc::input,
              format("{}\n"
                     "usage: dtrain run {} [options] [--] command [args]\n"
                     "example: dtrain run {} python train.py{}",
                     config.command.empty() ? "no command given" : "the command is empty",
                     cut ? "--cluster-spec 'TEXT'" : "-np N",
                     cut ? "--cluster-spec 'worker|h1:2222;h2:2222'" : "-np 4",
                     cut ? "\nWithout quotes a shell takes each | and ; for itself." : ""));
}

}  // namespace

Result<RunConfig> make_run_config(const OptionSources& by_precedence,
                                  std::vector<std::string> command, const TextReader& read_text,
                                  const Environment& environment, bool on_terminal) {
  // The order matters: roles need hosts, environment and strategy, --env-set and --stdin need
  // roles. With --role-command, the job's command may be absent: read_roles checks that each role
  // has one.
  RunConfig config;
  config.command = std::move(command);
  TRY(read_external_cluster(by_precedence, environment, read_text, config));
  const ProcessStart start = {.environment = environment, .on_terminal = on_terminal};
  TRY(find_step_nodes(by_precedence, start, config));
  if (!find_option(by_precedence, "role-command")) TRY(check_command(by_precedence, config));
  TRY(check_answered_options(by_precedence));
  TRY(read_mca(by_precedence, config));
  TRY(read_placement(by_precedence, config.placement));
  if (config.placement.gpu_share) {
    config.warnings.emplace_back(
        "--gpu-share is for tests: NCCL connects ranks of one GPU by sockets, and speeds mean "
        "nothing");
  }
  TRY(read_port_range(by_precedence, config));
  TRY(read_networks(by_precedence, config));
  if (!config.external_cluster) {
    TRY(read_processes(by_precedence, config.placement));
    TRY(read_hosts(by_precedence, environment, read_text, config));
    TRY(read_nodes(by_precedence, start, config));
    TRY(read_torchrun_layout(by_precedence, config));
  }
  TRY(read_environment(by_precedence, read_text, config));
  TRY(read_strategy(by_precedence, config));
  TRY(read_roles(by_precedence, read_text, config));
  TRY(read_env_sets(by_precedence, config));
  TRY(read_cluster_filter(by_precedence, config));
  TRY(read_stdin(by_precedence, config));
  TRY(read_engine(by_precedence, config));
  TRY(read_texts(by_precedence, config));
  TRY(read_sync(by_precedence, config));
  TRY(read_setup(by_precedence, config));
  TRY(read_mounts(by_precedence, config));
  TRY(read_success(by_precedence, config.success));
  TRY(read_min_workers(by_precedence, config));
  warn_of_unused_server_options(by_precedence, config);
  TRY(read_color(by_precedence, config));
  TRY(read_ssh(by_precedence, config.ssh));
  TRY(read_srun_args(by_precedence, config));
  TRY(read_durations(by_precedence, config));
  wait_for_pods(by_precedence, config);
  TRY(read_flags(by_precedence, config));
  TRY(read_restart_settings(by_precedence, read_text, config));
  TRY(read_torchrun_command(by_precedence, environment, config));
  TRY(settle_nodes_job(by_precedence, start, config));
  return config;
}

Result<RunConfig> make_check_config(const OptionSources& by_precedence, const TextReader& read_text,
                                    const Environment& environment) {
  RunConfig config;
  TRY(read_hosts(by_precedence, environment, read_text, config));
  if (!config.host_source.program.empty()) {
    return find_option(by_precedence, "host-discovery-script")
        ->refuse("only a job runs it; name the hosts: -H HOST,HOST,…");
  }
  if (config.hosts.empty()) config.hosts = {{.name = "localhost"}};
  if (const auto given = find_option(by_precedence, "chdir"))
    config.chdir = TRY(given->text("a folder"));
  TRY(read_port_range(by_precedence, config));
  TRY(read_networks(by_precedence, config));
  TRY(read_color(by_precedence, config));
  TRY(read_ssh(by_precedence, config.ssh));
  TRY(read_srun_args(by_precedence, config));
  TRY(read_durations(by_precedence, config));
  wait_for_pods(by_precedence, config);
  if (const auto given = find_option(by_precedence, "verbose")) config.verbose = TRY(given->flag());
  return config;
}

}  // namespace dt
