#include "launcher/config/env_file.h"

#include "base/environment.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/source_location.h"

#include <algorithm>
#include <utility>

namespace dt {

Result<EnvironmentSetting> parse_setting(std::string_view text, std::string origin) {
  const auto refuse = [&origin](std::string_view why) {
    return fail(Errc::input, format("{}: {}", origin, why));
  };
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (name.empty()) {
    return refuse(format("expected NAME or NAME=VALUE, got \"{}\"", printable(text)));
  }
  if (text.find('\0') != std::string_view::npos) {
    return refuse(format("\"{}\": a variable cannot hold a NUL byte", printable(text)));
  }
  if (text.size() + 1 > variable_bytes_max) {
    const std::string_view value = equals == std::string_view::npos ? "" : text.substr(equals + 1);
    return refuse(format("{}={}… takes {} bytes; a variable can have {}", printable(name, 40),
                         printable(value.substr(0, 8)), text.size(), variable_bytes_max - 1));
  }
  EnvironmentSetting setting{
      .name = std::string(name), .value = std::nullopt, .origin = std::move(origin)};
  if (equals != std::string_view::npos) setting.value = text.substr(equals + 1);
  return setting;
}

Result<std::vector<EnvironmentSetting>> parse_env_file(std::string_view text,
                                                       std::string_view path) {
  constexpr std::string_view blanks = " \t";
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::vector<EnvironmentSetting> settings;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    const SourceLocation place(path, line, ++number);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view entry =
        line.substr(std::min(line.find_first_not_of(blanks), line.size()));
    if (entry.empty() || entry.starts_with('#')) continue;
    // `export A=1` and `A = 1` are of other formats: no variable has such a name.
    const std::string_view name = entry.substr(0, entry.find('='));
    const size_t blank = name.find_first_of(blanks);
    if (blank != std::string_view::npos) {
      return place.refuse(entry.substr(blank), format("expected NAME=VALUE without blanks in the "
                                                      "name, got \"{}\"",
                                                      printable(name)));
    }
    EnvironmentSetting setting = TRY(parse_setting(entry, place.of(entry)));
    settings.push_back(std::move(setting));
  }
  return settings;
}

}  // namespace dt
