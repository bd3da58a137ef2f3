#include "launcher/config/files/toml_document.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

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

std::optional<toml::parse_result> parse_text(std::string_view text, std::string_view path) {
  try {
    return toml::parse(text, path);
  } catch (const ParserConfused&) {
    return std::nullopt;
  }
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
  const std::optional<toml::parse_result> parsed = parse_text(text.substr(0, before), "");
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
  return fail(Errc::input, format("{}: {}\n{}", format("{}:{}:{}", path, at.line, at.column), why,
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
    (parse_text(text.substr(0, size), path) ? good : bad) = middle;
  }
  const std::string_view line = line_of(text, bad);
  return fail(Errc::input,
              format("{}:{}: this is no TOML\n{}", path, bad,
                     pointed_at(std::string(line), line.find_first_not_of(" \t") + 1)));
}

std::vector<TomlEntry> entries_of(const toml::table& table);

TomlValue value_of(const toml::node& node) {
  using Kind = TomlValue::Kind;
  if (const toml::table* table = node.as_table()) {
    return {.kind = table->is_inline() ? Kind::inline_table : Kind::table,
            .entries = entries_of(*table)};
  }
  if (const toml::array* array = node.as_array()) {
    TomlValue value{.kind = node.is_array_of_tables() ? Kind::tables : Kind::array};
    for (const toml::node& element : *array)
      value.elements.push_back(value_of(element));
    return value;
  }
  if (const auto text = node.value_exact<std::string>()) return {.kind = Kind::text, .text = *text};
  if (const auto flag = node.value_exact<bool>()) return {.kind = Kind::flag, .flag = *flag};
  if (const auto real = node.value_exact<double>()) return {.kind = Kind::real, .real = *real};
  if (const auto integer = node.value_exact<int64_t>())
    return {.kind = Kind::integer, .integer = *integer};
  return {};
}

std::vector<TomlEntry> entries_of(const toml::table& table) {
  std::vector<TomlEntry> entries;
  for (const auto& [key, node] : table) {
    const toml::source_position at = key.source().begin;
    entries.push_back({.key = std::string(key.str()),
                       .line = at.line,
                       .column = at.column,
                       .value = value_of(node)});
  }
  // toml++ has them in the order of their keys.
  std::ranges::sort(entries, {},
                    [](const TomlEntry& entry) { return std::pair(entry.line, entry.column); });
  return entries;
}

void move_sources(std::vector<TomlEntry>& entries, size_t by);

void move_sources(TomlValue& value, size_t by) {
  move_sources(value.entries, by);
  for (TomlValue& element : value.elements)
    move_sources(element, by);
}

void move_sources(std::vector<TomlEntry>& entries, size_t by) {
  for (TomlEntry& entry : entries) {
    entry.source += by;
    move_sources(entry.value, by);
  }
}

}  // namespace

std::string_view TomlValue::kind_name() const {
  switch (kind) {
    case Kind::text:
      return "a string";
    case Kind::integer:
      return "a whole number";
    case Kind::real:
      return "a number with a point";
    case Kind::flag:
      return "true or false";
    case Kind::array:
      return "an array";
    case Kind::inline_table:
    case Kind::table:
      return "a table";
    case Kind::tables:
      return "an array of tables";
    case Kind::time:
      break;
  }
  return "a date or time";
}

Result<TomlDocument> TomlDocument::parse(std::string_view text, std::string_view path) {
  const std::optional<toml::parse_result> parsed = parse_text(text, path);
  if (!parsed) return confusion_error(text, path);
  if (!*parsed) return syntax_error(text, path, parsed->error());
  TomlDocument document(text, path);
  document.entries_ = entries_of(parsed->table());
  return document;
}

std::string TomlDocument::place(const TomlEntry& entry) const {
  return format("{}:{}:{}", path_of(entry), entry.line, entry.column);
}

tl::unexpected<Error> TomlDocument::refuse(const TomlEntry& entry, std::string_view why) const {
  return fail(Errc::input,
              format("{}: {}\n{}", place(entry), why,
                     pointed_at(std::string(line_of(sources_[entry.source].text, entry.line)),
                                entry.column)));
}

std::vector<TomlEntry> TomlDocument::adopt(TomlDocument other) {
  move_sources(other.entries_, sources_.size());
  std::ranges::move(other.sources_, std::back_inserter(sources_));
  return std::move(other.entries_);
}

}  // namespace dt
