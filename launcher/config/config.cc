#include "launcher/config/config.h"

#include "base/environment.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/config/answers.h"
#include "launcher/config/cluster_options.h"
#include "launcher/config/env_file.h"
#include "launcher/config/env_set.h"
#include "launcher/config/given.h"
#include "launcher/config/networks.h"
#include "launcher/config/options.h"
#include "launcher/config/role_options.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace dt {
namespace {

using Sources = std::vector<OptionSource>;

Result<> read_flags(const Sources& sources, RunConfig& config) {
  struct Flag {
    std::string_view name;
    bool RunConfig::*member;
  };
  constexpr Flag flags[] = {{"oversubscribe", &RunConfig::oversubscribe},
                            {"no-horovod", &RunConfig::no_horovod},
                            {"no-macros", &RunConfig::no_macros},
                            {"pass-local-rank", &RunConfig::pass_local_rank},
                            {"merge-stderr", &RunConfig::merge_stderr},
                            {"no-tag", &RunConfig::no_tag},
                            {"timestamp", &RunConfig::timestamp},
                            {"quiet", &RunConfig::quiet},
                            {"verbose", &RunConfig::verbose},
                            {"dry-run", &RunConfig::dry_run},
                            {"json", &RunConfig::json}};
  for (const Flag& flag : flags) {
    if (const auto given = find_given(sources, flag.name)) {
      config.*flag.member = TRY(given->flag());
    }
  }
  const auto json = find_given(sources, "json");
  if (json && config.json && !config.dry_run) {
    return json->refuse("only --dry-run prints JSON; give both, or neither");
  }
  return {};
}

/// A shorter one would keep both sides busy with it.
constexpr Duration heartbeat_min = milliseconds(10);

Result<> read_durations(const Sources& sources, RunConfig& config) {
  struct Setting {
    std::string_view name;
    Duration RunConfig::*member;
  };
  constexpr Setting settings[] = {{"start-timeout", &RunConfig::start_timeout},
                                  {"heartbeat", &RunConfig::heartbeat},
                                  {"dead-after", &RunConfig::dead_after}};
  for (const Setting& setting : settings) {
    if (const auto given = find_given(sources, setting.name)) {
      config.*setting.member = TRY(given->positive_duration());
    }
  }
  if (const auto given = find_given(sources, "heartbeat");
      given && config.heartbeat < heartbeat_min) {
    return given->expected("at least " + duration_text(heartbeat_min));
  }
  if (const auto given = find_given(sources, "timeout"))
    config.timeout = TRY(given->positive_duration());
  if (const auto given = find_given(sources, "grace")) {
    config.grace = TRY(given->duration());  // 0 is SIGKILL at once
  }
  if (config.heartbeat < config.dead_after) return {};
  auto given = find_given(sources, "heartbeat");
  if (!given) given = find_given(sources, "dead-after");
  assert(given && "the defaults fit");
  return given->refuse(format("the heartbeat ({}) must be shorter than the dead-after time ({})",
                              duration_text(config.heartbeat), duration_text(config.dead_after)));
}

BindTo bind_to_named(std::string_view word) {
  return word == "core"   ? BindTo::core
         : word == "numa" ? BindTo::numa
         : word == "auto" ? BindTo::automatic
                          : BindTo::none;
}

Result<> read_placement(const Sources& sources, PlacementOptions& placement) {
  struct Setting {
    std::string_view name;
    DealBy PlacementOptions::*member;
  };
  // Who spreads the processes wants neighbours in rank spread too, if he says nothing else.
  constexpr Setting settings[] = {{"map-by", &PlacementOptions::map_by},
                                  {"map-by", &PlacementOptions::rank_by},
                                  {"rank-by", &PlacementOptions::rank_by}};
  for (const Setting& setting : settings) {
    if (const auto given = find_given(sources, setting.name)) {
      placement.*setting.member = TRY(given->choice()) == "node" ? DealBy::node : DealBy::slot;
    }
  }
  if (const auto given = find_given(sources, "ppn"))
    placement.per_host = static_cast<int>(TRY(given->integer(1, slots_max)));
  if (const auto given = find_given(sources, "bind-to"))
    placement.bind_to = bind_to_named(TRY(given->choice()));
  if (const auto given = find_given(sources, "gpu-bind"))
    placement.gpu_bind = TRY(given->choice()) == "rank" ? GpuBind::rank : GpuBind::none;
  if (const auto given = find_given(sources, "report-bindings"))
    placement.report_bindings = TRY(given->flag());
  return {};
}

Result<std::string> read_named(const Given& given, const std::string& path,
                               const TextReader& read_text) {
  if (path.empty() || path.find('\0') != std::string::npos) return given.expected("a file");
  Result<std::string> text = read_text(path);
  if (text) return text;
  return given.refuse(format("cannot read \"{}\": {}", printable(path), text.error().message));
}

Result<HostList> read_hostfile(const Given& given, const TextReader& read_text) {
  const std::string& path = given.value();
  return parse_hostfile(TRY(read_named(given, path, read_text)), path);
}

/// Instead of ssh; what is meant for ssh would go nowhere.
Result<> read_rsh_agent(const Sources& sources, LoginOptions& ssh) {
  const auto given = find_given(sources, "rsh-agent");
  if (!given) return {};
  const std::string text = TRY(given->text("a program"));
  for (const std::string_view word : split_words(text))
    ssh.program.emplace_back(word);
  if (ssh.program.empty()) return given->expected("a program");
  for (const std::string_view name : {"ssh", "ssh-port", "ssh-identity-file", "ssh-config"}) {
    const auto other = find_given(sources, name);
    if (other) return other->refuse(format("conflicts with {}; give one of them", given->origin));
  }
  return {};
}

Result<> read_ssh(const Sources& sources, LoginOptions& ssh) {
  if (const auto given = find_given(sources, "ssh-port")) {
    ssh.port = static_cast<uint16_t>(TRY(given->integer(1, 65535)));
  }
  if (const auto given = find_given(sources, "ssh-identity-file")) {
    ssh.identity = TRY(given->text("a file"));
  }
  if (const auto given = find_given(sources, "ssh-config")) {
    ssh.config = TRY(given->text("a file"));
  }
  if (const auto given = find_given(sources, "ssh")) {
    const std::string carrier = TRY(given->choice());
    ssh.carrier = carrier == "libssh2"   ? SshCarrier::libssh2
                  : carrier == "openssh" ? SshCarrier::openssh
                                         : SshCarrier::automatic;
  }
  if (const auto given = find_given(sources, "ssh-parallel")) {
    ssh.parallel = static_cast<size_t>(TRY(given->integer(1, static_cast<int64_t>(hosts_max))));
  }
  TRY(read_rsh_agent(sources, ssh));
  if (const auto given = find_given(sources, "connect-timeout")) {
    ssh.connect_timeout = TRY(given->positive_duration());
  }
  return {};
}

Result<> read_port_range(const Sources& sources, RunConfig& config) {
  const auto given = find_given(sources, "port-range");
  if (!given) return {};
  config.port_range = parse_port_range(given->value());
  if (config.port_range) return {};
  return given->expected("FIRST-LAST of 1024..65535, for example 5000-5099");
}

Result<> read_networks(const Sources& sources, RunConfig& config) {
  const auto given = find_given(sources, "network-interfaces");
  if (!given) return {};
  const std::string all = join(*given->values, ",");
  for (const std::string_view word : split(all, ',')) {
    if (!is_network_word(trim(word))) {
      return given->expected("interfaces or networks, for example eth0 or 10.0.0.0/8");
    }
    config.networks.emplace_back(trim(word));
  }
  return {};
}

/// The first source that names hosts in either way decides.
Result<> read_hosts(const Sources& sources, const TextReader& read_text, RunConfig& config) {
  for (const OptionSource& source : sources) {
    const auto hosts = find_in(source, "hosts");
    const auto hostfile = find_in(source, "hostfile");
    if (!hosts && !hostfile) continue;
    if (hosts && hostfile) {
      return hosts->refuse(format("conflicts with {}; give one of them", hostfile->origin));
    }
    HostList list = TRY(hosts ? parse_host_list(join(*hosts->values, ","), hosts->origin, read_text)
                              : read_hostfile(*hostfile, read_text));
    config.hosts = std::move(list.hosts);
    std::ranges::move(list.warnings, std::back_inserter(config.warnings));
    return {};
  }
  return {};
}

Result<> read_color(const Sources& sources, RunConfig& config) {
  const auto given = find_given(sources, "color");
  if (given) config.color = parse_color_choice(TRY(given->choice())).value();
  return {};
}

/// Options for the workers' library first, then files: -x wins over both.
Result<> read_environment(const Sources& sources, const TextReader& read_text, RunConfig& config) {
  config.environment = TRY(exported_settings(sources));
  if (const auto given = find_given(sources, "env-file")) {
    for (const std::string& path : *given->values) {
      const std::string text = TRY(read_named(*given, path, read_text));
      std::ranges::move(TRY(parse_env_file(text, path)), std::back_inserter(config.environment));
    }
  }
  if (const auto given = find_given(sources, "env")) {
    for (const std::string& text : *given->values)
      config.environment.push_back(TRY(parse_setting(text, given->origin)));
  }
  if (const auto given = find_given(sources, "env-exclude")) {
    for (const std::string& pattern : *given->values) {
      if (pattern.empty()) return given->expected("a pattern of names");
    }
    config.environment_excluded = *given->values;
  }
  return {};
}

Result<> read_env_sets(const Sources& sources, RunConfig& config) {
  const auto given = find_given(sources, "env-set");
  if (!given) return {};
  const std::string all = join(*given->values, ",");
  std::vector<std::string_view> words;
  for (const std::string_view word : split(all, ','))
    words.push_back(trim(word));
  for (const std::string_view word : words) {
    if (!env_sets_named(word)) return given->unknown_word(word, env_set_words());
  }
  config.env_sets = chosen_env_sets(words);
  return {};
}

Result<> read_stdin(const Sources& sources, RunConfig& config) {
  const auto given = find_given(sources, "stdin");
  if (!given || given->value() == "none") return {};
  if (given->value() == "all") {
    config.stdin_target.kind = StdinTarget::Kind::all;
    return {};
  }
  // Slots that only the hosts know leave the last rank open.
  const bool known = !config.placement.per_host &&
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

Result<> read_texts(const Sources& sources, RunConfig& config) {
  if (const auto given = find_given(sources, "chdir")) config.chdir = TRY(given->text("a folder"));
  if (const auto given = find_given(sources, "output-dir")) {
    config.output_dir = TRY(given->text("a folder"));
  }
  if (const auto given = find_given(sources, "report")) {
    config.report = TRY(given->text("a file"));
    if (config.report == "-") {
      return given->refuse("standard output is the workers'; give a file, or /dev/stderr");
    }
  }
  if (const auto given = find_given(sources, "on-failure")) {
    config.continue_on_failure = TRY(given->choice()) == "continue";
  }
  return {};
}

Result<> read_cluster_filter(const Sources& sources, RunConfig& config) {
  const auto given = find_given(sources, "cluster-filter");
  if (!given) return {};
  config.cluster_filter = TRY(given->choice()) == "ps" ? ClusterFilter::ps : ClusterFilter::none;
  return {};
}

Result<> read_success(const Sources& sources, SuccessOptions& success) {
  if (const auto given = find_given(sources, "clean")) {
    const std::string word = TRY(given->choice());
    success.clean = word == "all"    ? CleanUp::all
                    : word == "none" ? CleanUp::none
                                     : CleanUp::running;
  }
  constexpr std::string_view role_prefix = "role:";
  const auto given = find_given(sources, "success");
  if (!given) return {};
  if (given->value().starts_with(role_prefix)) {
    success.by = SuccessBy::role;
    success.role = given->value().substr(role_prefix.size());
    if (success.role.empty()) return given->expected("a role after role:");
    return {};
  }
  constexpr std::pair<std::string_view, SuccessBy> words[] = {
      {"auto", SuccessBy::automatic},
      {"chief", SuccessBy::chief},
      {"worker-0", SuccessBy::worker_0},
      {"all-workers", SuccessBy::all_workers},
      {"all", SuccessBy::all}};
  const auto* const found =
      std::ranges::find(words, given->value(), &std::pair<std::string_view, SuccessBy>::first);
  if (found == std::end(words))
    return given->expected("auto, chief, worker-0, all-workers, all or role:NAME");
  success.by = found->second;
  return {};
}

Result<> check_command(const RunConfig& config) {
  if (!config.command.empty() && !config.command[0].empty()) return {};
  // What a shell has left of --cluster-spec may still be a cluster.
  const bool cut = config.given_cluster && !config.given_cluster->task;
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

Result<OptionSource> read_environment_options(const std::vector<std::string>& environment) {
  constexpr std::string_view prefix = "DTRAIN_OPT_";
  OptionSource options;
  for (const auto& [variable, value] : parse_environment(environment)) {
    if (!variable.starts_with(prefix) || value.empty()) continue;
    const auto option = std::ranges::find(run_options, variable, variable_of);
    if (option == run_options.end()) {
      std::string word = variable.substr(prefix.size());
      std::ranges::transform(word, word.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' ? '-' : c;
      });
      const std::optional<OptionGuess> guess = guess_option(word);
      return fail(Errc::input,
                  format("{}: no such option{}", printable(variable),
                         guess ? format("; did you mean {}?", variable_of(*guess->option)) : ""));
    }
    if (option->effect == Effect::prints) {
      return fail(Errc::input, format("{}: this option belongs on the command line: {}", variable,
                                      spellings_of(*option).back()));
    }
    std::vector<std::string> values = {value};
    if (option->kind == OptionKind::list) {
      const std::vector<std::string_view> words = split_words(value);
      values.assign(words.begin(), words.end());
    }
    options.values.emplace(option->name, std::move(values));
    options.origins.emplace(option->name, variable);
  }
  return options;
}

Result<RunConfig> make_run_config(const std::vector<OptionSource>& by_precedence,
                                  std::vector<std::string> command, const TextReader& read_text,
                                  const Environment& environment) {
  RunConfig config;
  config.command = std::move(command);
  TRY(read_given_cluster(by_precedence, environment, read_text, config));
  if (!find_given(by_precedence, "role-command")) TRY(check_command(config));
  TRY(answer_options(by_precedence));
  TRY(read_placement(by_precedence, config.placement));
  TRY(read_port_range(by_precedence, config));
  TRY(read_networks(by_precedence, config));
  if (!config.given_cluster) TRY(read_hosts(by_precedence, read_text, config));
  TRY(read_environment(by_precedence, read_text, config));
  TRY(read_roles(by_precedence, read_text, config));
  TRY(read_env_sets(by_precedence, config));
  TRY(read_cluster_filter(by_precedence, config));
  TRY(read_stdin(by_precedence, config));
  TRY(read_texts(by_precedence, config));
  TRY(read_success(by_precedence, config.success));
  TRY(read_color(by_precedence, config));
  TRY(read_ssh(by_precedence, config.ssh));
  TRY(read_durations(by_precedence, config));
  TRY(read_flags(by_precedence, config));
  return config;
}

Result<RunConfig> make_check_config(const std::vector<OptionSource>& by_precedence,
                                    const TextReader& read_text) {
  RunConfig config;
  TRY(read_hosts(by_precedence, read_text, config));
  if (config.hosts.empty()) config.hosts = {{.name = "localhost"}};
  TRY(read_networks(by_precedence, config));
  TRY(read_color(by_precedence, config));
  TRY(read_ssh(by_precedence, config.ssh));
  TRY(read_durations(by_precedence, config));
  if (const auto given = find_given(by_precedence, "verbose")) config.verbose = TRY(given->flag());
  return config;
}

}  // namespace dt
