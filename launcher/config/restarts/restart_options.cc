#include "launcher/config/restarts/restart_options.h"

#include "base/text.h"

namespace dt {

namespace {

constexpr int64_t status_max = 255;

std::optional<StatusRange> parse_range(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = parse_integer(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_integer(text.substr(dash + 1));
  if (!first || !last || *first < 1 || *last > status_max || *first > *last) return std::nullopt;
  return StatusRange{static_cast<int>(*first), static_cast<int>(*last)};
}

}  // namespace

std::optional<std::vector<StatusRange>> parse_statuses(std::string_view text) {
  std::vector<StatusRange> ranges;
  for (const std::string_view part : split(text, ',')) {
    const auto range = parse_range(trim(part));
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

}  // namespace dt
