#include "launcher/config/output/local_streams.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/hosts.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace dt {
namespace {

std::optional<StreamChoice> parse_choice(std::string_view text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '3') return std::nullopt;
  const int bits = text[0] - '0';
  return StreamChoice{.output = (bits & 1) != 0, .error = (bits & 2) != 0};
}

}  // namespace

StreamChoice LocalStreams::of(int local_rank) const {
  const auto found = of_ranks.find(local_rank);
  return found == of_ranks.end() ? all : found->second;
}

bool LocalStreams::any() const {
  return all.any() ||
         std::ranges::any_of(of_ranks, [](const auto& entry) { return entry.second.any(); });
}

Result<LocalStreams> parse_local_streams(std::string_view text) {
  LocalStreams streams;
  if (const auto choice = parse_choice(text)) {
    streams.all = *choice;
    return streams;
  }
  for (const std::string_view entry : split(text, ',')) {
    const size_t colon = entry.find(':');
    const bool is_pair = colon != std::string_view::npos;
    const auto rank = is_pair ? parse_integer(trim(entry.substr(0, colon))) : std::nullopt;
    const auto choice = is_pair ? parse_choice(trim(entry.substr(colon + 1))) : std::nullopt;
    if (!rank || *rank < 0 || *rank >= slots_max || !choice) {
      return fail(Errc::input,
                  format("expected 0, 1, 2 or 3, or a list of local ranks with these, such as "
                         "0:1,1:3, got \"{}\"",
                         printable(text)));
    }
    streams.of_ranks[static_cast<int>(*rank)] = *choice;
  }
  return streams;
}

}  // namespace dt
