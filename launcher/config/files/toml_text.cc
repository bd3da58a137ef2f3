#include "launcher/config/files/toml_text.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <cassert>
#include <optional>

namespace dt {
namespace {

bool is_decimal(std::string_view text) {
  const size_t point = text.find('.');
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (point == std::string_view::npos) return false;
  return digits(text.substr(0, point)) && digits(text.substr(point + 1));
}

/// Returns the value without quotes; none when its kind or its text requires them.
std::optional<std::string> bare_value(OptionKind kind, const std::string& value) {
  const std::optional<int64_t> integer = parse_integer(value);
  switch (kind) {
    case OptionKind::flag:
      if (value == "true" || value == "1" || value == "yes" || value == "on") return "true";
      if (value == "false" || value == "0" || value == "no" || value == "off") return "false";
      return std::nullopt;
    case OptionKind::integer:
    case OptionKind::duration:
      if (integer) return format("{}", *integer);
      return std::nullopt;
    case OptionKind::number:
      if (integer) return format("{}", *integer);
      if (is_decimal(value)) return value;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string toml_string(std::string_view text) {
  std::string written = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const size_t length = printable_length(text);
    if (byte == '"' || byte == '\\') written += '\\';
    if (length > 0) {
      written += text.substr(0, length);
    } else if (byte < 0x80) {
      written += format("\\u{:04X}", byte);
    } else {
      written += format("\\\\x{:02X}", byte);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return written + "\"";
}

std::string toml_value(const Option& option, const std::vector<std::string>& values) {
  assert(!values.empty());
  if (!may_repeat(option)) {
    return bare_value(option.kind, values.back()).value_or(toml_string(values.back()));
  }
  std::vector<std::string> strings(values.size());
  std::ranges::transform(values, strings.begin(), toml_string);
  return strings.size() == 1 ? strings[0] : format("[{}]", join(strings, ", "));
}

}  // namespace dt
