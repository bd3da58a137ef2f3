#include "base/format.h"
#include "base/text.h"
#include "launcher/config/config.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <optional>

namespace dt {
namespace {

/// Thrown when a text makes an assertion of toml++ fail.
struct ParserConfused {};

[[noreturn]] void confuse_parser() {
  throw ParserConfused();
}

}  // namespace
}  // namespace dt

// A user's file must not end the program, as assert would ("[[[a" is such a file).
#define TOML_ASSERT(condition) ((condition) ? static_cast<void>(0) : ::dt::confuse_parser())
#include <toml++/toml.h>

namespace dt {
namespace {

std::optional<toml::parse_result> parse(std::string_view text, std::string_view path) {
  try {
    return toml::parse(text, path);
  } catch (const ParserConfused&) {
    return std::nullopt;
  }
}

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

/// Returns the values as on a command line; none when the type is wrong.
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
    case OptionKind::lines:
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
    case OptionKind::lines:
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

bool starts_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) != 0x80;
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, starts_character));
}

/// Returns the longest front of at most `count` characters.
std::string_view first_characters(std::string_view text, size_t count) {
  size_t seen = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (starts_character(text[i]) && seen++ == count) return text.substr(0, i);
  }
  return text;
}

/// Returns a line of the file, and under it a caret at the column of the error.
std::string pointed_at(std::string line, size_t column) {
  constexpr size_t shown_max = 76;
  constexpr size_t before_max = 60;
  std::ranges::replace(line, '\t', ' ');
  std::string_view shown = line;
  size_t before = std::min(column - 1, characters(shown));
  if (before > before_max) {
    shown.remove_prefix(first_characters(shown, before - before_max).size());
    before = before_max;
  }
  shown = first_characters(shown, shown_max);
  // An invalid byte is shown by four characters.
  const std::string front = printable(first_characters(shown, before), line.size() * 4);
  return format("  {}\n  {}^", printable(shown, line.size() * 4),
                std::string(characters(front), ' '));
}

std::string_view line_of(std::string_view text, size_t number) {
  for (size_t line = 1; line < number; ++line) {
    const size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  text = text.substr(0, text.find('\n'));
  return text.substr(0, text.find('\r'));
}

/// Returns the key of a line such as `"np" = 4` or `[np]`.
std::string_view key_of(std::string_view line) {
  constexpr std::string_view around = " \t[\"'";
  line.remove_prefix(std::min(line.find_first_not_of(around), line.size()));
  return line.substr(0, line.find_first_of(" \t=.]\"'"));
}

/// Returns the error for a line that repeats a key, with the place of the first. toml++ does not
/// report that place.
std::optional<std::string> redefinition(std::string_view text, std::string_view line) {
  const auto before = static_cast<size_t>(line.data() - text.data());
  const std::optional<toml::parse_result> parsed = parse(text.substr(0, before), "");
  if (!parsed || !*parsed) return std::nullopt;
  const std::string_view key = key_of(line);
  const auto first = parsed->table().find(key);
  if (first == parsed->table().end()) return std::nullopt;
  return format("\"{}\" is defined again; the first is in line {}", printable(key),
                first->first.source().begin.line);
}

tl::unexpected<Error> syntax_error(std::string_view text, std::string_view path,
                                   const toml::parse_error& error) {
  const toml::source_position at = error.source().begin;
  const std::string_view line = line_of(text, at.line);
  std::string why = printable(error.description(), 400);
  if (why.find("redefine") != std::string::npos) why = redefinition(text, line).value_or(why);
  return fail(Errc::input, format("{}: {}\n{}", place(path, error.source()), why,
                                  pointed_at(std::string(line), at.column)));
}

/// Finds the line at which an assertion failed. The parser reads forward, so a text that ends
/// before that line passes.
tl::unexpected<Error> confusion_error(std::string_view text, std::string_view path) {
  size_t good = 0;  // lines that it reads
  size_t bad = static_cast<size_t>(std::ranges::count(text, '\n')) + 1;
  while (bad - good > 1) {
    const size_t middle = good + (bad - good) / 2;
    const std::string_view last = line_of(text, middle);
    const auto size = static_cast<size_t>(last.data() + last.size() - text.data());
    (parse(text.substr(0, size), path) ? good : bad) = middle;
  }
  const std::string_view line = line_of(text, bad);
  return fail(Errc::input,
              format("{}:{}: this is no TOML\n{}", path, bad,
                     pointed_at(std::string(line), line.find_first_not_of(" \t") + 1)));
}

}  // namespace

Result<OptionSource> read_toml_options(std::string_view text, std::string_view path) {
  const std::optional<toml::parse_result> result = parse(text, path);
  if (!result) return confusion_error(text, path);
  const toml::parse_result& parsed = *result;
  if (!parsed) return syntax_error(text, path, parsed.error());
  OptionSource options;
  for (const auto& [key, node] : parsed.table()) {
    const std::string at = place(path, key.source());
    const toml::table* table = node.as_table();
    if (table != nullptr && table->is_inline()) {
      return fail(Errc::input, format("{0}: {1}: expected no table; write: {1} = [\"NAME=VALUE\"]",
                                      at, printable(key.str())));
    }
    if (table != nullptr || node.is_array_of_tables()) {
      return fail(Errc::input,
                  format("{}: [{}]: dtrain.toml has no tables; write each option as a line of its "
                         "own, such as: np = 4",
                         at, printable(key.str())));
    }
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
