#include "launcher/export/yaml_text.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <optional>

namespace dt {
namespace {

/// One character of a text, and the bytes that it has there.
struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
};

/// Returns the character at the front of a text that is not empty; none where it is no UTF-8.
std::optional<Character> first_character(std::string_view text) {
  const auto byte = [text](size_t at) { return static_cast<unsigned char>(text[at]); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return Character{lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return std::nullopt;
  uint32_t code = lead & (0x7FU >> bytes);
  for (size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xC0U) != 0x80) return std::nullopt;
    code = code << 6U | (byte(at) & 0x3FU);
  }
  constexpr std::array<uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < least[bytes] || code > 0x10FFFF || is_surrogate) return std::nullopt;
  return Character{code, bytes};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto next = first_character(text);
    if (!next) return false;
    text.remove_prefix(next->bytes);
  }
  return true;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// True for words that YAML 1.1 or 1.2 takes for a truth value, or for nothing.
bool is_reserved(std::string_view text) {
  constexpr std::array<std::string_view, 9> words = {"y",   "n",    "yes",   "no",  "on",
                                                     "off", "true", "false", "null"};
  constexpr size_t longest = 5;
  return text.size() <= longest && std::ranges::count(words, lower_case(text)) > 0;
}

/// True for a text that needs no quotes. It begins with a letter, _ or /, so that it is no number
/// or date, and has only characters without a meaning in YAML.
bool is_plain(std::string_view text) {
  constexpr std::string_view inside = "0123456789_./=@%+-";
  if (text.empty() || is_reserved(text)) return false;
  const char first = text.front();
  if (!is_letter(first) && first != '_' && first != '/') return false;
  return std::ranges::all_of(
      text, [inside](char c) { return is_letter(c) || inside.find(c) != std::string_view::npos; });
}

/// True where single quotes are easier to read than double ones, in which these need a backslash.
bool fits_single_quotes(std::string_view text) {
  const bool is_printable = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  return is_printable && text.find_first_of("\"\\") != std::string_view::npos;
}

std::string single_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text)
    quoted.append(c == '\'' ? 2 : 1, c);
  quoted += '\'';
  return quoted;
}

/// True for characters that may stand in a quoted text as they are.
bool is_shown(uint32_t code) {
  constexpr uint32_t byte_order_mark = 0xFEFF;
  constexpr uint32_t line_separator = 0x2028;
  constexpr uint32_t paragraph_separator = 0x2029;
  if (code == byte_order_mark || code == line_separator || code == paragraph_separator)
    return false;
  return (code >= 0x20 && code < 0x7F) || (code >= 0xA0 && code < 0xFFFE) || code >= 0x10000;
}

std::string escaped(uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  return code <= 0xFF ? format("\\x{:02x}", code) : format("\\u{:04x}", code);
}

std::string double_quoted(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const Character next = first_character(text).value_or(Character());
    if (next.code == '"' || next.code == '\\') quoted += '\\';
    if (is_shown(next.code)) {
      quoted += text.substr(0, next.bytes);
    } else {
      quoted += escaped(next.code);
    }
    text.remove_prefix(next.bytes);
  }
  quoted += '"';
  return quoted;
}

std::string scalar_text(const YamlValue& value) {
  if (value.kind() == YamlValue::Kind::none) return "null";
  return value.kind() == YamlValue::Kind::text ? yaml_scalar(value.scalar()) : value.scalar();
}

/// Returns a value that fits behind its key, or behind a dash; none for one that needs lines.
std::optional<std::string> on_one_line(const YamlValue& value) {
  constexpr size_t columns_max = 88;
  if (value.is_scalar()) return scalar_text(value);
  if (value.items().empty()) return value.kind() == YamlValue::Kind::list ? "[]" : "{}";
  const bool has_scalars = std::ranges::all_of(value.items(), &YamlValue::is_scalar);
  if (value.kind() == YamlValue::Kind::map || !has_scalars) return std::nullopt;
  std::vector<std::string> words(value.items().size());
  std::ranges::transform(value.items(), words.begin(), scalar_text);
  std::string line = format("[{}]", join(words, ", "));
  if (line.size() > columns_max) return std::nullopt;
  return line;
}

/// Returns the beginning of an entry up to its colon. YAML takes long keys only behind a ?.
std::string key_text(const std::string& key, const std::string& margin) {
  constexpr size_t key_bytes_max = 512;
  const std::string text = yaml_scalar(key);
  return text.size() <= key_bytes_max ? margin + text + ":"
                                      : format("{0}? {1}\n{0}:", margin, text);
}

/// True for a text of several lines that a literal block can hold: each line stands there as it is.
bool fits_literal_block(std::string_view text) {
  const bool has_lines = text.find('\n') < text.size() - 1;
  // White space at the beginning would count as indentation.
  if (!has_lines || text.find_first_of(" \t\n") == 0 || text.ends_with("\n\n")) return false;
  while (!text.empty()) {
    const Character next = first_character(text).value_or(Character());
    if (next.code != '\n' && next.code != '\t' && !is_shown(next.code)) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

std::string literal_block(std::string_view text, size_t depth) {
  const bool has_end = text.ends_with('\n');
  std::string block = has_end ? " |\n" : " |-\n";
  if (has_end) text.remove_suffix(1);
  for (const std::string_view line : split(text, '\n'))
    block += (line.empty() ? "" : std::string(depth, ' ') + std::string(line)) + "\n";
  return block;
}

constexpr size_t indent = 2;

std::string block_text(const YamlValue& value, size_t depth) {
  const std::string margin(depth, ' ');
  if (const auto line = on_one_line(value)) return margin + *line + "\n";
  std::string text;
  for (size_t i = 0; i < value.items().size(); ++i) {
    const YamlValue& item = value.items()[i];
    if (value.kind() == YamlValue::Kind::list) {
      // The dash stands in the margin of the item's first line.
      std::string lines = block_text(item, depth + indent);
      lines[depth] = '-';
      text += lines;
      continue;
    }
    text += key_text(value.keys()[i], margin);
    if (item.kind() == YamlValue::Kind::text && fits_literal_block(item.scalar())) {
      text += literal_block(item.scalar(), depth + indent);
      continue;
    }
    const auto line = on_one_line(item);
    text += line ? " " + *line + "\n" : "\n" + block_text(item, depth + indent);
  }
  return text;
}

Result<> check_texts(const YamlValue& value) {
  const auto refuse = [](const std::string& text) {
    return fail(Errc::input, format("\"{}\": YAML holds UTF-8 only, and this text has other bytes",
                                    printable(text)));
  };
  if (!is_utf8(value.scalar())) return refuse(value.scalar());
  for (const std::string& key : value.keys())
    if (!is_utf8(key)) return refuse(key);
  for (const YamlValue& item : value.items())
    TRY(check_texts(item));
  return {};
}

}  // namespace

YamlValue YamlValue::text(std::string_view text) {
  return YamlValue(Kind::text, std::string(text));
}

YamlValue YamlValue::number(int64_t number) {
  return YamlValue(Kind::number, format("{}", number));
}

YamlValue YamlValue::flag(bool flag) {
  return YamlValue(Kind::flag, flag ? "true" : "false");
}

YamlValue YamlValue::list(const std::vector<std::string>& texts) {
  YamlValue all(Kind::list);
  for (const std::string& one : texts)
    all.add(text(one));
  return all;
}

YamlValue YamlValue::list(std::initializer_list<YamlValue> items) {
  YamlValue all(Kind::list);
  for (const YamlValue& item : items)
    all.add(item);
  return all;
}

YamlValue YamlValue::map(std::initializer_list<std::pair<const char*, YamlValue>> entries) {
  YamlValue all(Kind::map);
  for (const auto& [key, value] : entries)
    all.set(key, value);
  return all;
}

void YamlValue::add(YamlValue item) {
  assert(kind_ == Kind::list);
  items_.push_back(std::move(item));
}

void YamlValue::set(std::string key, YamlValue item) {
  assert(kind_ == Kind::map && std::ranges::count(keys_, key) == 0);
  keys_.push_back(std::move(key));
  items_.push_back(std::move(item));
}

std::string yaml_scalar(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  return fits_single_quotes(text) ? single_quoted(text) : double_quoted(text);
}

bool yaml_can_hold(std::string_view text) {
  return is_utf8(text);
}

Result<std::string> yaml_text(const YamlValue& document) {
  TRY(check_texts(document));
  return block_text(document, 0);
}

}  // namespace dt
