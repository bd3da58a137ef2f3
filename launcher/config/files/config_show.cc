#include "launcher/config/files/config_show.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/cluster_options.h"
#include "launcher/config/files/toml_text.h"
#include "launcher/config/option_value.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace dt {
namespace {

/// The initial values of RunConfig's members. Flags are false. Other options have no default, or
/// two, as dead-after.
constexpr std::pair<std::string_view, std::string_view> defaults[] = {
    {"bind-to", "none"},      {"gpu-bind", "none"},   {"cluster-filter", "none"},
    {"start-timeout", "30s"}, {"grace", "10s"},       {"heartbeat", "1s"},
    {"stall-report", "30s"},  {"on-failure", "kill"}, {"success", "auto"},
    {"clean", "running"},     {"color", "auto"},      {"ssh", "auto"},
    {"ssh-parallel", "64"},   {"sync-max", "2G"},     {"setup-timeout", "10m"}};

std::optional<DecidedOption> default_of(const Option& option) {
  if (option.effect != Effect::decides) return std::nullopt;
  if (option.kind == OptionKind::flag) return DecidedOption{&option, {"false"}, "default"};
  const auto* const found =
      std::ranges::find(defaults, option.name, [](const auto& entry) { return entry.first; });
  if (found == std::end(defaults)) return std::nullopt;
  return DecidedOption{&option, {std::string(found->second)}, "default"};
}

/// True for a source of hosts when only another one is in the first source of options that has any.
/// They count as one option.
bool other_hosts_option_wins(const OptionSources& by_precedence, std::string_view name) {
  constexpr std::string_view names[] = {"hosts", "hostfile", "host-discovery-script"};
  if (std::ranges::find(names, name) == std::end(names)) return false;
  const auto first = std::ranges::find_if(by_precedence, [&names](const OptionSource& source) {
    return std::ranges::any_of(
        names, [&source](std::string_view any) { return find_in(source, any).has_value(); });
  });
  return first != by_precedence.end() && !find_in(*first, name);
}

/// Removes the option's name from the end of a file's origin: the output already has it.
std::string short_origin(const OptionValue& given) {
  const std::string ending = format(": {}", given.name);
  if (!given.origin.ends_with(ending)) return given.origin;
  return given.origin.substr(0, given.origin.size() - ending.size());
}

/// The variable that a value sets: "A" of A=1, "ps=A" of --role-env ps=A=1. A file stands for
/// itself.
std::string_view variable_in(const Option& option, std::string_view value) {
  if (option.name == "env-file") return value;
  size_t end = value.find('=');
  if (option.name == "role-env" && end != std::string_view::npos) end = value.find('=', end + 1);
  return value.substr(0, end);
}

/// Returns the values of all sources, without those that a nearer one replaces.
DecidedOption add_up(const Option& option, const std::vector<OptionValue>& far_to_near) {
  DecidedOption decided = {.option = &option, .values = {}, .origin = {}};
  std::vector<std::string> places;
  for (const OptionValue& given : far_to_near) {
    const std::string origin = short_origin(given);
    for (const std::string& value : *given.values) {
      for (size_t i = decided.values.size(); i-- > 0;) {
        if (variable_in(option, decided.values[i]) != variable_in(option, value)) continue;
        decided.values.erase(decided.values.begin() + static_cast<ptrdiff_t>(i));
        decided.origins.erase(decided.origins.begin() + static_cast<ptrdiff_t>(i));
      }
      decided.values.push_back(value);
      decided.origins.push_back(origin);
    }
    decided.found = decided.found || given.found;
  }
  for (const std::string& origin : decided.origins) {
    if (std::ranges::count(places, origin) == 0) places.push_back(origin);
  }
  decided.origin = join(places, ", ");
  if (places.size() == 1) decided.origins.clear();
  return decided;
}

/// Returns a list with a value in each line, and its origin behind it.
std::string lines_with_origins(const DecidedOption& decided) {
  std::string text = format("{} = [\n", decided.option->name);
  for (size_t i = 0; i < decided.values.size(); ++i)
    text += format("  {},  # {}\n", toml_string(decided.values[i]), printable(decided.origins[i]));
  return text + "]\n";
}

Json json_value(const Option& option, const std::vector<std::string>& values) {
  const std::string text = toml_value(option, values);
  if (may_repeat(option)) return Json::Array(values.begin(), values.end());
  if (text == "true" || text == "false") return text == "true";
  if (const std::optional<int64_t> integer = parse_integer(text)) return *integer;
  const OptionValue given{.name = option.name, .values = &values, .origin = {}};
  const Result<double> number = given.number();
  if (option.kind == OptionKind::number && number) return *number;
  return values.back();
}

}  // namespace

std::vector<DecidedOption> decided_options(const OptionSources& by_precedence, bool with_defaults) {
  std::vector<DecidedOption> decided;
  const LayoutChoice layout = find_layout(by_precedence);
  for (const Option& option : run_options) {
    if (!option.in_files || other_hosts_option_wins(by_precedence, option.name)) continue;
    if (is_overridden(layout, option.name)) continue;
    const std::vector<OptionValue> all = find_all(by_precedence, option.name);
    if (adds_up(option) && all.size() > 1) {
      decided.push_back(add_up(option, all));
    } else if (const auto given = find_option(by_precedence, option.name)) {
      decided.push_back({&option, *given->values, short_origin(*given), given->found});
    } else if (auto initial = with_defaults ? default_of(option) : std::nullopt) {
      decided.push_back(*std::move(initial));
    }
  }
  return decided;
}

std::string decided_toml(const std::vector<DecidedOption>& decided, bool with_origins) {
  if (decided.empty()) return "# No option is set; see the defaults: dtrain config show --all\n";
  std::vector<std::string> lines;
  size_t longest = 0;
  for (const DecidedOption& one : decided) {
    lines.push_back(format("{} = {}", one.option->name, toml_value(*one.option, one.values)));
    // One very long line must not move the comments of all others to the right.
    constexpr size_t aligned_max = 48;
    const bool in_lines = with_origins && !one.origins.empty();
    if (!in_lines && lines.back().size() <= aligned_max)
      longest = std::max(longest, lines.back().size());
  }
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (with_origins && !decided[i].origins.empty()) {
      text += lines_with_origins(decided[i]);
      continue;
    }
    text += with_origins ? format("{:{}}  # {}\n", lines[i], longest, printable(decided[i].origin))
                         : lines[i] + "\n";
  }
  return text;
}

Json decided_json(const std::vector<DecidedOption>& decided) {
  Json::Object all;
  for (const DecidedOption& one : decided) {
    all.emplace_back(
        std::string(one.option->name),
        Json::Object{{"value", json_value(*one.option, one.values)}, {"origin", one.origin}});
  }
  return all;
}

}  // namespace dt
