#include "base/format.h"
#include "base/text.h"
#include "launcher/config.h"
#include "launcher/options.h"

#include <toml++/toml.h>

namespace dt {
namespace {

std::string place(std::string_view path, const toml::source_region& source) {
  return format("{}:{}:{}", path, source.begin.line, source.begin.column);
}

std::string_view kind_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number with a point";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

std::optional<std::vector<std::string>> array_values(const toml::array& array) {
  std::vector<std::string> values;
  for (const toml::node& element : array) {
    const auto text = element.value_exact<std::string>();
    if (!text) return std::nullopt;
    values.push_back(*text);
  }
  return values;
}

/// The values as they would be written on a command line, or none when the type is another.
std::optional<std::vector<std::string>> values_of(const toml::node& node, OptionKind kind) {
  const auto text = node.value_exact<std::string>();
  const auto integer = node.value_exact<int64_t>();
  switch (kind) {
    case OptionKind::flag:
      if (const auto flag = node.value_exact<bool>()) return {{*flag ? "true" : "false"}};
      return std::nullopt;
    case OptionKind::integer:
      if (integer) return {{format("{}", *integer)}};
      return std::nullopt;
    case OptionKind::text:
      if (text) return {{*text}};
      return std::nullopt;
    case OptionKind::number:
      if (integer) return {{format("{}", *integer)}};
      if (const auto real = node.value_exact<double>()) return {{format("{}", *real)}};
      return std::nullopt;
    case OptionKind::duration:
      if (integer) return {{format("{}", *integer)}};
      if (const auto real = node.value_exact<double>()) return {{format("{}", *real)}};
      if (text) return {{*text}};
      return std::nullopt;
    case OptionKind::list:
      if (text) return {{*text}};
      return node.is_array() ? array_values(*node.as_array()) : std::nullopt;
  }
  return std::nullopt;
}

std::string_view wanted(OptionKind kind) {
  switch (kind) {
    case OptionKind::flag:
      return "true or false";
    case OptionKind::integer:
      return "a whole number";
    case OptionKind::text:
      return "a string";
    case OptionKind::number:
      return "a number";
    case OptionKind::duration:
      return "a duration such as \"30s\", or a number of seconds";
    case OptionKind::list:
      return "a string or an array of strings";
  }
  return "";
}

Result<const Option*> option_of(std::string_view key, std::string_view at) {
  const Option* option = find_option(key);
  if (option != nullptr && option->in_files) return option;
  if (option != nullptr) {
    return fail(Errc::input, format("{}: {}: this option cannot stand in a file", at, key));
  }
  const std::optional<OptionGuess> guess = guess_option(key);
  return fail(Errc::input, format("{}: unknown option \"{}\"{}", at, printable(key),
                                  guess ? format("; did you mean {}?", guess->option->name) : ""));
}

}  // namespace

Result<OptionSource> read_toml_options(std::string_view text, std::string_view path) {
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    return fail(Errc::input, format("{}: {}", place(path, parsed.error().source()),
                                    printable(parsed.error().description(), 400)));
  }
  OptionSource options;
  for (const auto& [key, node] : parsed.table()) {
    const std::string at = place(path, key.source());
    const Option* option = TRY(option_of(key.str(), at));
    std::optional<std::vector<std::string>> values = values_of(node, option->kind);
    if (!values) {
      return fail(Errc::input, format("{}: {}: expected {}, got {}", at, option->name,
                                      wanted(option->kind), kind_name(node)));
    }
    options.values.emplace(option->name, *std::move(values));
    options.origins.emplace(option->name, format("{}: {}", at, option->name));
  }
  return options;
}

}  // namespace dt
