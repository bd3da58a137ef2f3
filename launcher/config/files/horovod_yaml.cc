#include "launcher/config/files/horovod_yaml.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/files/toml_text.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace dt {
namespace {

/// A line `key: value`; a section has an empty value.
struct Entry {
  std::string_view key;
  std::string_view value;
  bool indented = false;
};

std::optional<Entry> parse_entry(std::string_view line) {
  const bool indented = line.starts_with(' ') || line.starts_with('\t');
  line = trim(line);
  if (line.starts_with('#')) return std::nullopt;
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view key = line.substr(0, colon);
  const std::string_view rest = line.substr(colon + 1);
  const bool word = std::ranges::none_of(key, [](char c) {
    return c == '=' || c == '"' || c == '\'' || c == '[' || c == ' ' || c == '#';
  });
  if (!word || (!rest.empty() && rest[0] != ' ')) return std::nullopt;
  std::string_view value = trim(rest.substr(0, rest.find(" #")));
  const bool quoted =
      value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0];
  if (quoted) value = value.substr(1, value.size() - 2);
  return Entry{key, value, indented};
}

std::string with_dashes(std::string_view text) {
  std::string dashes(text);
  std::ranges::replace(dashes, '_', '-');
  return dashes;
}

const Option* find_by_spelling(const std::string& name) {
  for (const Option& option : run_options) {
    const std::vector<std::string_view> spellings = spellings_of(option);
    if (option.in_files && std::ranges::count(spellings, "--" + name) > 0) return &option;
  }
  return nullptr;
}

/// Finds the option of a key in horovodrun's file. The key (num-proc), section and key (timeline:
/// filename), or the section (autotune: enabled) name it. The key (num-proc), section and key
/// (timeline: filename), or the section (autotune: enabled) name it.
const Option* option_for(const std::string& section, const std::string& key) {
  const std::string prefix = section == "logging" ? "log" : section;
  for (const std::string& name : {key == "enabled" ? section : key, format("{}-{}", prefix, key)}) {
    if (const Option* option = find_by_spelling(name)) return option;
  }
  return nullptr;
}

std::string toml_line(const Option& option, const Entry& entry) {
  std::string value(entry.value);
  std::ranges::transform(value, value.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  const bool flag = option.kind == OptionKind::flag;
  return format("{} = {}", option.name,
                toml_value(option, {flag ? value : std::string(entry.value)}));
}

/// Returns a line of TOML for each entry with a value, such as "cycle-time-ms = 3.5". An entry that
/// is no option becomes a comment.
std::vector<std::string> translations(std::string_view text) {
  std::vector<std::string> lines;
  std::string_view section;
  for (const std::string_view line : split(text, '\n')) {
    const std::optional<Entry> entry = parse_entry(line);
    if (!entry) continue;
    if (!entry->indented) section = entry->value.empty() ? entry->key : "";
    if (entry->value.empty()) continue;
    const Option* option = option_for(with_dashes(section), with_dashes(entry->key));
    const Option* named = find_by_spelling(std::string(entry->value));
    if (option != nullptr) {
      lines.push_back(printable(toml_line(*option, *entry)));
    } else if (entry->key == "controller" && named != nullptr && named->kind == OptionKind::flag) {
      lines.push_back(format("{} = true", named->name));
    } else {
      lines.push_back(format("# {}{}: no option of dtrain",
                             section.empty() ? "" : printable(format("{}: ", section), 40),
                             printable(entry->key, 40)));
    }
  }
  return lines;
}

}  // namespace

bool is_yaml(std::string_view text, std::string_view path) {
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return true;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view word = trim(line);
    if (word.empty() || word.starts_with('#')) continue;
    return word == "---" || parse_entry(line).has_value();
  }
  return false;
}

std::string yaml_error(std::string_view text, std::string_view path) {
  const std::vector<std::string> lines = translations(text);
  const bool has_option =
      std::ranges::any_of(lines, [](const std::string& line) { return !line.starts_with('#'); });
  if (!has_option) {
    return format("\"{}\" is YAML; dtrain reads TOML, with lines such as: np = 4", printable(path));
  }
  return format("\"{}\" is YAML, as horovodrun reads it; the same as a dtrain.toml:\n{}",
                printable(path), join(lines, "\n"));
}

}  // namespace dt
