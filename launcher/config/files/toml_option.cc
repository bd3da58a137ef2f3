#include "launcher/config/files/toml_option.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/options.h"

#include <utility>

namespace dt {
namespace {

std::optional<std::vector<std::string>> array_values(const TomlValue& array) {
  std::vector<std::string> values;
  for (const TomlValue& element : array.elements) {
    if (element.kind != TomlValue::Kind::text) return std::nullopt;
    values.push_back(element.text);
  }
  return values;
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
    case OptionKind::lines:
      return "a string or an array of strings";
  }
  return "";
}

}  // namespace

std::optional<std::vector<std::string>> toml_values(const TomlValue& value, OptionKind kind) {
  using Kind = TomlValue::Kind;
  const bool number = kind == OptionKind::number || kind == OptionKind::duration;
  const bool list = kind == OptionKind::list || kind == OptionKind::lines;
  const bool text = list || kind == OptionKind::text || kind == OptionKind::duration;
  switch (value.kind) {
    case Kind::flag:
      if (kind == OptionKind::flag) return {{value.flag ? "true" : "false"}};
      break;
    case Kind::integer:
      if (number || kind == OptionKind::integer) return {{format("{}", value.integer)}};
      break;
    case Kind::real:
      if (number) return {{format("{}", value.real)}};
      break;
    case Kind::text:
      if (text) return {{value.text}};
      break;
    case Kind::array:
      if (list) return array_values(value);
      break;
    case Kind::tables:
    case Kind::table:
    case Kind::inline_table:
    case Kind::time:
      break;
  }
  return std::nullopt;
}

Result<const Option*> toml_option(const TomlDocument& document, const TomlEntry& entry,
                                  std::string_view name) {
  const Option* option = find_option(name);
  if (option != nullptr && option->in_files) return option;
  if (option != nullptr)
    return document.refuse(entry, format("{}: this option cannot stand in a file", name));
  const std::optional<OptionGuess> guess = guess_option(name);
  return document.refuse(entry,
                         format("unknown option \"{}\"{}", printable(name),
                                guess ? format("; did you mean {}?", guess->option->name) : ""));
}

Result<> add_toml_option(const TomlDocument& document, const TomlEntry& entry, const Option& option,
                         OptionSource& options) {
  auto values = toml_values(entry.value, option.kind);
  if (!values) {
    return document.refuse(entry, format("{}: expected {}, got {}", option.name,
                                         wanted(option.kind), entry.value.kind_name()));
  }
  options.values.emplace(option.name, *std::move(values));
  options.origins.emplace(option.name, format("{}: {}", document.place(entry), option.name));
  return {};
}

}  // namespace dt
