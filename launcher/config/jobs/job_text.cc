#include "launcher/config/jobs/job_text.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/config.h"
#include "launcher/config/files/toml_text.h"
#include "launcher/config/jobs/job_mounts.h"
#include "launcher/config/options.h"
#include "launcher/config/words/shell_words.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace dt {
namespace {

/// The lines of one table, by key.
using Table = std::vector<std::pair<std::string, std::string>>;

bool is_bare(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

std::string key_text(std::string_view key) {
  return is_bare(key) ? std::string(key) : toml_string(key);
}

std::string array_text(const std::vector<std::string>& values) {
  std::vector<std::string> strings(values.size());
  std::ranges::transform(values, strings.begin(), toml_string);
  return format("[{}]", join(strings, ", "));
}

const std::vector<std::string>& values_of(const OptionSource& options, std::string_view name) {
  static const std::vector<std::string> none;
  const auto found = options.values.find(name);
  return found == options.values.end() ? none : found->second;
}

/// Splits "NAME=VALUE".
std::pair<std::string, std::string> halves(std::string_view text) {
  const size_t equals = std::min(text.find('='), text.size());
  return {std::string(text.substr(0, equals)),
          std::string(text.substr(std::min(equals + 1, text.size())))};
}

/// Returns the variables with a value; of two with one name the later.
Table variables(const std::vector<std::string>& settings) {
  std::map<std::string, std::string> last;
  for (const std::string& setting : settings) {
    if (setting.find('=') != std::string::npos)
      last.insert_or_assign(halves(setting).first, halves(setting).second);
  }
  Table table;
  for (const auto& [name, value] : last)
    table.emplace_back(key_text(name), toml_string(value));
  return table;
}

std::string table_text(std::string_view name, const Table& table) {
  std::string text = format("\n[{}]\n", name);
  for (const auto& [key, value] : table)
    text += format("{} = {}\n", key, value);
  return text;
}

/// Returns the parts of "a=1,b=2". With hosts there is one role, whose hosts may have commas.
std::vector<std::string> role_parts(const std::string& text) {
  if (text.find('@') != std::string::npos) return {text};
  const std::vector<std::string_view> parts = split(text, ',');
  return {parts.begin(), parts.end()};
}

std::vector<std::string> comma_parts(const std::vector<std::string>& values) {
  std::vector<std::string> parts;
  const std::string all = join(values, ",");
  for (const std::string_view part : split(all, ','))
    parts.emplace_back(trim(part));
  return parts;
}

/// Returns the inline table of a role's resources; empty: it has none.
std::string resources_text(const OptionSource& options, const std::string& role) {
  std::vector<std::string> pairs;
  for (const std::string_view key : {"cpus", "gpus", "memory"}) {
    for (const std::string& text : comma_parts(values_of(options, format("role-{}", key)))) {
      const auto [name, value] = halves(text);
      if (name != role) continue;
      pairs.push_back(format("{} = {}", key, key == "memory" ? toml_string(value) : value));
    }
  }
  return pairs.empty() ? "" : format("{{ {} }}", join(pairs, ", "));
}

/// Returns what the options say on a role, but for its number.
Table role_rest(const OptionSource& options, const std::string& role) {
  Table rest;
  for (const std::string& text : values_of(options, "role-command")) {
    const auto [name, command] = halves(text);
    if (name == role) rest.emplace_back("command", array_text(split_shell_words(command).value()));
  }
  for (const std::string& text : comma_parts(values_of(options, "restart-role"))) {
    const auto [name, rule] = halves(text);
    const bool is_number = rule.find_first_not_of("0123456789") == std::string::npos;
    if (name == role)
      rest.emplace_back("restart", toml_string(is_number ? "on-failure:" + rule : rule));
  }
  if (const std::string resources = resources_text(options, role); !resources.empty())
    rest.emplace_back("resources", resources);
  for (const std::string& text : values_of(options, "role-ports")) {
    const auto [name, ports] = halves(text);
    if (name == role) rest.emplace_back("ports", format("[{}]", ports));
  }
  if (std::ranges::count(comma_parts(values_of(options, "role-ranked")), role) > 0)
    rest.emplace_back("ranked", "true");
  for (const std::string& text : values_of(options, "role-image")) {
    const auto [name, image] = halves(text);
    if (name == role) rest.emplace_back("image", toml_string(image));
  }
  std::vector<std::string> settings;
  for (const std::string& text : values_of(options, "role-env")) {
    const auto [name, setting] = halves(text);
    if (name == role) settings.push_back(setting);
  }
  std::vector<std::string> pairs;
  for (const auto& [key, value] : variables(settings))
    pairs.push_back(format("{} = {}", key, value));
  if (!pairs.empty()) rest.emplace_back("env", format("{{ {} }}", join(pairs, ", ")));
  return rest;
}

/// The options of single roles, whose values begin with NAME=, or are names.
constexpr std::array role_options = {"role-command", "role-env",   "role-ranked",
                                     "restart-role", "role-cpus",  "role-gpus",
                                     "role-memory",  "role-image", "role-ports"};

/// Returns the values for roles without a table: those of -np, whose number is no table's.
std::vector<std::string> values_without_table(const OptionSource& options, std::string_view name) {
  std::set<std::string> tables;
  for (const std::string& given : values_of(options, "role")) {
    for (const std::string& part : role_parts(given))
      tables.insert(std::string(trim(halves(part).first)));
  }
  const bool one_each = name == "role-command" || name == "role-env" || name == "role-ports";
  std::vector<std::string> left =
      one_each ? values_of(options, name) : comma_parts(values_of(options, name));
  std::erase_if(left, [&tables](const std::string& value) {
    return value.empty() || tables.contains(halves(value).first);
  });
  return left;
}

std::string roles_tables(const OptionSource& options) {
  std::string text;
  for (const std::string& given : values_of(options, "role")) {
    for (const std::string& part : role_parts(given)) {
      const auto [name, count] = halves(part);
      const std::string role(trim(name));
      const size_t at = std::min(count.find('@'), count.size());
      Table table = {{"replicas", std::string(trim(count.substr(0, at)))}};
      if (at < count.size()) table.emplace_back("hosts", array_text({count.substr(at + 1)}));
      std::ranges::move(role_rest(options, role), std::back_inserter(table));
      text += table_text("roles." + key_text(role), table);
    }
  }
  return text;
}

/// Returns the first sentence of an option's help.
std::string_view first_sentence(std::string_view help) {
  const size_t end = help.find(". ");
  return help.substr(0, end == std::string_view::npos ? help.size() : end + 1);
}

/// Returns the lines of an option, behind a comment on it.
std::string option_lines(const Option& option, const std::vector<std::string>& values) {
  const bool fetched = option.name == "fetch";
  return format("# {}\n{} = {}\n", first_sentence(option.help), fetched ? "outputs" : option.name,
                toml_value(option, values));
}

/// Returns --name, else the name of the script or program.
std::string name_of(const OptionSource& options, const std::vector<std::string>& command) {
  const std::vector<std::string>& given = values_of(options, "name");
  if (!given.empty()) return given.back();
  for (const std::string& word : command) {
    if (!word.ends_with(".py")) continue;
    const size_t begin = word.rfind('/') + 1;
    const std::string stem = word.substr(begin, word.size() - begin - 3);
    if (is_job_name(stem)) return stem;
  }
  const std::string program =
      command.empty() ? "" : command.front().substr(command.front().rfind('/') + 1);
  return is_job_name(program) ? program : "job";
}

}  // namespace

std::string job_file_text(const OptionSource& options, const std::vector<std::string>& command) {
  std::string text = format(
      "# A job for: dtrain job run FILE. All keys are in dtrain.job.toml(5).\nschema = 1\nname = "
      "{}\n",
      toml_string(name_of(options, command)));
  if (!command.empty()) text += format("command = {}\n", array_text(command));
  std::vector<std::string> passed;
  std::ranges::copy_if(values_of(options, "env"), std::back_inserter(passed),
                       [](const std::string& one) { return one.find('=') == std::string::npos; });
  if (!passed.empty())
    text += format("# Variables with the values that they have where dtrain runs.\npass-env = {}\n",
                   array_text(passed));
  static const std::set<std::string_view> in_tables = {"role", "env", "name", "mount",
                                                       "mount-command"};
  for (const auto& [name, values] : options.values) {
    if (in_tables.contains(name)) continue;
    const bool of_roles = std::ranges::find(role_options, name) != role_options.end();
    const auto& left = of_roles ? values_without_table(options, name) : values;
    if (!left.empty()) text += option_lines(*find_option(name), left);
  }
  const Table settings = variables(values_of(options, "env"));
  if (!settings.empty()) text += table_text("env", settings);
  return text + roles_tables(options) + job_mounts_text(options);
}

}  // namespace dt
