#include "launcher/config/role_options.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/config/env_file.h"
#include "launcher/config/hosts/host_merger.h"
#include "launcher/config/hosts/port_range.h"
#include "launcher/config/option_value.h"
#include "launcher/config/torchrun_command.h"
#include "launcher/config/trust.h"
#include "launcher/config/words/shell_words.h"
#include "rendezvous/cluster/task.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace dt {
namespace {

constexpr const char* devices_variable = "CUDA_VISIBLE_DEVICES";

/// Returns --role, unless that is the label that torchrun gives to its only role.
std::optional<OptionValue> given_roles(const OptionSources& sources) {
  auto given = find_option(sources, "role");
  if (!given || given->values->size() != 1) return given;
  const bool label = given->value().find('=') == std::string::npos && is_torchrun(sources);
  return label ? std::nullopt : given;
}

/// Returns the number of workers by -np; 0: not given.
Result<int> read_worker_count(const OptionSources& sources) {
  const auto given = find_option(sources, "np");
  if (!given) return 0;
  const int64_t count = TRY(given->integer(1, processes_max));
  return static_cast<int>(count);
}

/// Adds the role worker for -np N beside --role. If --role has it, too, the counts must be equal.
Result<> add_workers(const OptionSources& sources, int count, std::vector<Role>& roles) {
  const Role* given = find_role(roles, "worker");
  if (count == 0 || (given != nullptr && given->count == count)) return {};
  if (given != nullptr) {
    return find_option(sources, "np")
        ->refuse(format("{} workers, but {} says worker={}; leave one of them out", count,
                        find_option(sources, "role")->origin, given->count));
  }
  std::ranges::move(workers(count), std::back_inserter(roles));
  return {};
}

Result<Role*> role_named(std::string_view name, const OptionValue& given,
                         std::vector<Role>& roles) {
  const auto found = std::ranges::find(roles, name, &Role::name);
  if (found != roles.end()) return &*found;
  std::vector<std::string> names;
  for (const Role& role : roles)
    names.push_back(role.name);
  const std::optional<std::string> guess = nearest(name, names);
  return given.refuse(
      format("the job has no role \"{}\"; {}", printable(name),
             guess ? format("did you mean {}?", *guess) : format("it has {}", join(names, ", "))));
}

/// "NAME=VALUE" of an option: the role and its value.
struct RoleValue {
  Role* role = nullptr;
  std::string_view value;
};

Result<RoleValue> parse_role_value(std::string_view text, std::string_view shape,
                                   const OptionValue& given, std::vector<Role>& roles) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return given.refuse(format("expected {}, got \"{}\"", shape, printable(text)));
  }
  Role* const role = TRY(role_named(text.substr(0, equals), given, roles));
  return RoleValue{.role = role, .value = text.substr(equals + 1)};
}

Result<> read_commands(const OptionSources& sources, std::vector<Role>& roles) {
  const auto given = find_option(sources, "role-command");
  if (!given) return {};
  for (const std::string& text : *given->values) {
    const auto [role, value] = TRY(parse_role_value(text, "NAME=COMMAND", *given, roles));
    auto words = split_shell_words(value);
    if (!words) return given->refuse(format("role {}: {}", role->name, words.error().message));
    if (words->empty() || words->front().empty() || value.find('\0') != std::string_view::npos) {
      return given->refuse(
          format("role {}: expected a command, got \"{}\"", role->name, printable(value)));
    }
    role->command = *std::move(words);
  }
  return {};
}

Result<> read_environments(const OptionSources& sources, std::vector<Role>& roles) {
  for (const OptionValue& given : find_all(sources, "role-env")) {
    for (const std::string& text : *given.values) {
      const auto [role, value] = TRY(parse_role_value(text, "NAME=VARIABLE=VALUE", given, roles));
      EnvironmentSetting setting = TRY(parse_setting(value, given.origin));
      if (!setting.value)
        return given.refuse(format("expected NAME=VARIABLE=VALUE, got \"{}\"", printable(text)));
      TRY(check_found_variable(given, setting));
      role->environment[setting.name] = *std::move(setting.value);
    }
  }
  return {};
}

Result<> read_ranked(const OptionSources& sources, std::vector<Role>& roles) {
  const auto given = find_option(sources, "role-ranked");
  if (!given) return {};
  const std::string all = join(*given->values, ",");
  for (const std::string_view name : split(all, ',')) {
    Role* const role = TRY(role_named(trim(name), *given, roles));
    role->ranked = true;
  }
  return {};
}

Result<> read_images(const OptionSources& sources, RunConfig& config) {
  if (const auto given = find_option(sources, "no-image")) config.no_image = TRY(given->flag());
  if (const auto given = find_option(sources, "image")) config.image = TRY(given->text("an image"));
  const auto given = find_option(sources, "role-image");
  if (!given) return {};
  for (const std::string& text : *given->values) {
    const auto [role, image] = TRY(parse_role_value(text, "NAME=IMAGE", *given, config.roles));
    if (image.empty() || image.find('\0') != std::string_view::npos)
      return given->refuse(
          format("role {}: expected an image, got \"{}\"", role->name, printable(image)));
    role->image = image;
  }
  return {};
}

/// The most restarts of one task, where it has a limit.
constexpr int64_t restarts_max = 1000;

/// Parses "2", "on-failure", "always" or "always:2".
Result<> parse_restarts(std::string_view text, const OptionValue& given, Role& role) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view word = text.substr(0, colon);
  const bool has_word = word == "always" || word == "on-failure";
  const bool limited = !has_word || colon < text.size();
  const auto number =
      parse_integer(has_word ? text.substr(std::min(colon + 1, text.size())) : text);
  if (limited && (!number || *number < 1 || *number > restarts_max)) {
    return given.refuse(
        format("role {}: expected a number of restarts, 1..{}, or always, or always:N, got \"{}\"",
               role.name, restarts_max, printable(text)));
  }
  role.restarts = limited ? static_cast<int>(*number) : restarts_unlimited;
  role.restarts_always = word == "always";
  return {};
}

Result<> read_restarts(const OptionSources& sources, std::vector<Role>& roles) {
  const auto given = find_option(sources, "restart-role");
  if (!given) return {};
  const std::string all = join(*given->values, ",");
  for (const std::string_view text : split(all, ',')) {
    const auto [role, value] = TRY(parse_role_value(trim(text), "NAME=N", *given, roles));
    if (role->restarts > 0) return given->refuse(format("role {} is given twice", role->name));
    TRY(parse_restarts(value, *given, *role));
  }
  return {};
}

/// Sets one of the resources of a role by a value such as "4" or "0.5"; false for no such value.
using SetResource = bool (*)(std::string_view text, RoleResources& resources);

bool set_cpus(std::string_view text, RoleResources& resources) {
  const auto count = parse_integer(text);
  if (!count || *count < 1 || *count > task_cpus_max) return false;
  resources.cpus = static_cast<int>(*count);
  return true;
}

bool set_gpus(std::string_view text, RoleResources& resources) {
  resources.gpus = parse_gpu_count(text);
  return resources.gpus.has_value();
}

bool set_memory(std::string_view text, RoleResources& resources) {
  resources.memory_bytes = parse_memory(text).value_or(0);
  return resources.memory_bytes > 0;
}

struct ResourceOption {
  std::string_view name;
  std::string_view shape;
  std::string_view wanted;
  SetResource set = nullptr;
};

constexpr ResourceOption resource_rows[] = {
    {"role-cpus", "NAME=N", cpus_wanted, set_cpus},
    {"role-gpus", "NAME=N", gpus_wanted, set_gpus},
    {"role-memory", "NAME=SIZE", memory_wanted, set_memory},
};

Result<> read_resource(const OptionSources& sources, const ResourceOption& option,
                       std::vector<Role>& roles) {
  const auto given = find_option(sources, option.name);
  if (!given) return {};
  std::vector<const Role*> read;
  const std::string all = join(*given->values, ",");
  for (const std::string_view text : split(all, ',')) {
    const auto [role, value] = TRY(parse_role_value(trim(text), option.shape, *given, roles));
    if (std::ranges::count(read, role) > 0)
      return given->refuse(format("role {} is given twice", role->name));
    read.push_back(role);
    if (option.set(value, role->resources)) continue;
    return given->refuse(
        format("role {}: expected {}, got \"{}\"", role->name, option.wanted, printable(value)));
  }
  return {};
}

Result<> read_ports(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "role-ports");
  if (!given) return {};
  if (config.external_cluster)
    return given->refuse("the cluster gives its tasks their addresses; leave one of them out");
  for (const std::string& text : *given->values) {
    const auto [role, value] = TRY(parse_role_value(text, "NAME=PORT,…", *given, config.roles));
    if (!role->ports.empty()) return given->refuse(format("role {} is given twice", role->name));
    for (const std::string_view one : split(value, ',')) {
      const auto port = parse_port_range(trim(one));
      if (!port || port->size() != 1) {
        return given->refuse(format("role {}: expected ports of 1024..65535, got \"{}\"",
                                    role->name, printable(value)));
      }
      role->ports.push_back(port->first);
    }
    const size_t count = role->ports.size();
    if (count != 1 && role->count != 0 && count != static_cast<size_t>(role->count)) {
      return given->refuse(
          format("role {} has {} tasks, but {} ports; give one each, or one for all "
                 "on hosts of their own",
                 role->name, role->count, count));
    }
  }
  return {};
}

/// Reads the resources of roles. A role without GPUs does not see those of its host.
Result<> read_resources(const OptionSources& sources, std::vector<Role>& roles) {
  for (const ResourceOption& option : resource_rows)
    TRY(read_resource(sources, option, roles));
  for (Role& role : roles) {
    if (!role.resources.gpus) continue;
    if (role.environment.contains(devices_variable)) {
      return find_option(sources, "role-gpus")
          ->refuse(format("role {} has {} by --role-env, too; leave one of them out", role.name,
                          devices_variable));
    }
    if (!role.resources.gpus->needs_gpus()) role.environment.emplace(devices_variable, "");
  }
  return {};
}

/// Hides GPUs from ps and evaluator, which would take them from the tasks that train. The user may
/// set CUDA_VISIBLE_DEVICES to override it.
void hide_gpus(std::vector<Role>& roles, const std::vector<EnvironmentSetting>& settings) {
  if (std::ranges::count(settings, devices_variable, &EnvironmentSetting::name) > 0) return;
  for (Role& role : roles) {
    const bool trains = role.name != "ps" && role.name != evaluator_role;
    if (!trains && !role.resources.gpus) role.environment.emplace(devices_variable, "");
  }
}

/// Returns the hosts of the roles, each with the sum of its slots; unknown if a role gives none.
Result<std::vector<Host>> hosts_of_roles(const std::vector<Role>& roles, const OptionValue& given) {
  std::vector<Host> hosts;
  std::map<std::string, size_t> by_name;  // canonical
  for (const Role& role : roles) {
    for (Host host : role.hosts) {
      host.shared = true;
      const auto [at, fresh] = by_name.try_emplace(canonical_host(host.name), hosts.size());
      if (fresh) {
        hosts.push_back(std::move(host));
        continue;
      }
      Host& known = hosts[at->second];
      if (known.slots == 0 || host.slots == 0) known.slots = host.slots = 0;
      const Result<> merged = merge_host(known, host);
      if (!merged) return given.refuse(format("role {}: {}", role.name, merged.error().message));
    }
  }
  return hosts;
}

/// Under that strategy, the role ps runs dtrain's own server unless it has a command. "self" is the
/// agent's own executable.
void serve_parameters(const std::optional<StrategyName>& strategy, std::vector<Role>& roles) {
  if (strategy != StrategyName::parameter_server) return;
  for (Role& role : roles) {
    if (role.name == "ps" && role.command.empty()) role.command = {"self", "ps"};
  }
}

/// Requires a command for each role, except for an external cluster. There, the dtrain of another
/// host has the command of its roles.
Result<> check_commands(const RunConfig& config) {
  const auto without =
      std::ranges::find_if(config.roles, [](const Role& role) { return role.command.empty(); });
  if (without == config.roles.end() && !config.command.empty()) {
    return fail(Errc::input,
                format("--role-command: every role has a command of its own, so {} would run "
                       "nowhere; leave it out",
                       shell_quote(printable(config.command.front()))));
  }
  if (without != config.roles.end() && config.command.empty() && !config.external_cluster) {
    return fail(Errc::input, format("no command given for role {}; write it at the end, or as "
                                    "--role-command {}=COMMAND",
                                    without->name, without->name));
  }
  return {};
}

Result<> check_known(const RunConfig& config) {
  const bool known = task_count(config.roles) != 0 || config.placement.per_host ||
                     !config.hosts.empty() || !config.host_source.program.empty();
  if (known) return {};
  constexpr std::string_view spellings[] = {"-np", "--np", "-n"};
  const auto typed = std::ranges::find_first_of(config.command, spellings);
  if (typed != config.command.end()) {
    return fail(Errc::input,
                format("{0} stands in the command ({1}); options come first: dtrain run "
                       "{0} N COMMAND",
                       *typed, printable(config.command.front())));
  }
  return fail(Errc::input, format("-np: missing; without hosts give the number of processes, 1..{}",
                                  processes_max));
}

/// Reads the roles with their numbers of tasks.
Result<> read_counts(const OptionSources& sources, const TextReader& read_text, RunConfig& config) {
  if (config.external_cluster) {
    config.roles = roles_of(*config.external_cluster);
    return {};
  }
  const int worker_count = TRY(read_worker_count(sources));
  config.roles = workers(worker_count);
  const auto given = given_roles(sources);
  if (!given) return {};
  config.roles.clear();
  for (const std::string& text : *given->values) {
    std::vector<Role> roles = TRY(parse_roles(text, given->origin, read_text, config.warnings));
    std::ranges::move(roles, std::back_inserter(config.roles));
  }
  return add_workers(sources, worker_count, config.roles);
}

}  // namespace

Result<> read_roles(const OptionSources& sources, const TextReader& read_text, RunConfig& config) {
  TRY(read_counts(sources, read_text, config));
  TRY(read_commands(sources, config.roles));
  TRY(read_environments(sources, config.roles));
  TRY(read_ranked(sources, config.roles));
  TRY(read_restarts(sources, config.roles));
  TRY(read_resources(sources, config.roles));
  TRY(read_images(sources, config));
  TRY(read_ports(sources, config));
  const auto given = given_roles(sources);
  if (const auto label = find_option(sources, "role"); label && !given) {
    config.warnings.push_back(format("{} {}: a label of torchrun; these processes are worker here",
                                     label->origin, printable(label->value())));
  }
  if (given && !config.external_cluster) {
    TRY(check_roles(config.roles, given->origin));
    if (config.hosts.empty() && config.host_source.program.empty())
      config.hosts = TRY(hosts_of_roles(config.roles, *given));
  }
  hide_gpus(config.roles, config.environment);
  serve_parameters(config.strategy, config.roles);
  // torchrun starts one process where no number is given.
  const bool counted = task_count(config.roles) != 0 || config.placement.per_host ||
                       !config.host_source.program.empty();
  if (is_torchrun(sources) && !counted && config.hosts.empty()) config.placement.per_host = 1;
  TRY(check_known(config));
  return check_commands(config);
}

}  // namespace dt
