#include "launcher/config/allocation/slot_lines.h"

#include "base/format.h"
#include "base/text.h"

#include <utility>

namespace dt {

Result<std::vector<Host>> parse_host_lines(std::string_view text, std::string_view source,
                                           const AddHostLine& add) {
  AllocatedHosts hosts;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    const SourceLocation place(source, line, ++number);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::vector<std::string_view> words = split_words(line);
    if (!words.empty()) TRY(add(hosts, words, place));
  }
  if (hosts.empty()) return fail(Errc::input, format("{}: names no host", source));
  return std::move(hosts).finish();
}

Result<std::vector<Host>> parse_slot_lines(std::string_view text, std::string_view source) {
  return parse_host_lines(
      text, source, [](auto& hosts, const auto& words, const auto& line) -> Result<> {
        if (words.size() > 1) {
          return line.refuse(words[1], format("expected one host on the line, got \"{}\" behind it",
                                              printable(words[1])));
        }
        if (const Result<> counted = hosts.count(words[0]); !counted)
          return line.refuse(words[0], counted.error().message);
        return {};
      });
}

}  // namespace dt
