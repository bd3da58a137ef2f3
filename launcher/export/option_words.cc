#include "launcher/export/option_words.h"

#include "base/format.h"
#include "launcher/config/option_value.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace dt {
namespace {

std::string flag_word(const Option& option, const std::string& value) {
  const std::vector<std::string> values = {value};
  const OptionValue given = {.name = option.name, .values = &values, .origin = {}};
  const bool is_on = given.flag().value_or(true);
  const std::vector<std::string_view> spellings = spellings_of(option);
  const auto same = std::ranges::find_if(
      spellings, [&](std::string_view spelling) { return turns_off(option, spelling) != is_on; });
  if (same != spellings.end()) return std::string(*same);
  return format("{}={}", spellings.front(), is_on ? "true" : "false");
}

/// Returns the spelling that takes its value behind an =, with two dashes if there is one.
std::string_view long_spelling(const Option& option) {
  const std::vector<std::string_view> spellings = spellings_of(option);
  const auto found = std::ranges::find_if(
      spellings, [](std::string_view spelling) { return spelling.starts_with("--"); });
  return found == spellings.end() ? spellings.front() : *found;
}

}  // namespace

std::vector<std::string> option_words(const Option& option,
                                      const std::vector<std::string>& values) {
  if (option.kind == OptionKind::flag) return {flag_word(option, values.back())};
  const size_t count = std::max<size_t>(value_count(option), 1);
  const std::string spelling(spellings_of(option).front());
  std::vector<std::string> words;
  if (count > 1) {
    words.push_back(spelling);
    words.insert(words.end(), values.end() - static_cast<std::ptrdiff_t>(count), values.end());
    return words;
  }
  const size_t first = may_repeat(option) ? 0 : values.size() - 1;
  for (size_t at = first; at < values.size(); ++at) {
    if (values[at].empty() || values[at].starts_with('-')) {
      words.push_back(format("{}={}", long_spelling(option), values[at]));
      continue;
    }
    words.push_back(spelling);
    words.push_back(values[at]);
  }
  return words;
}

}  // namespace dt
