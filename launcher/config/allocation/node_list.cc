#include "launcher/config/allocation/node_list.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/config/hosts/host_range.h"
#include "launcher/config/hosts/source_location.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace dt {
namespace {

/// Removes "(x3)" from the end of `text`. Returns the number in it, 1 without it, and none for
/// other text in parentheses.
std::optional<int64_t> take_repeats(std::string_view& text) {
  const size_t open = text.find('(');
  if (open == std::string_view::npos) return 1;
  std::string_view repeats = text.substr(open);
  text = text.substr(0, open);
  if (!repeats.starts_with("(x") || !repeats.ends_with(')')) return std::nullopt;
  repeats.remove_prefix(2);
  repeats.remove_suffix(1);
  return parse_integer(repeats);
}

}  // namespace

Result<std::vector<std::string>> expand_node_list(const AllocationVariable& list) {
  const std::string source = list.text();
  const SourceLocation place(source, list.value);
  std::vector<std::string> names;
  for (const std::string_view entry : split_at_commas(list.value)) {
    if (entry.empty()) continue;
    std::vector<std::string> expanded = TRY(expand_ranges(entry, place));
    for (const std::string& name : expanded) {
      const auto fault = host_name_fault(name);
      if (fault) return list.refuse(format("{} (in \"{}\")", fault->message, printable(entry)));
    }
    std::ranges::move(expanded, std::back_inserter(names));
    if (names.size() > hosts_max) return list.refuse(format("more than {} hosts", hosts_max));
  }
  if (names.empty()) return list.refuse("names no host");
  return names;
}

Result<std::vector<int>> parse_node_counts(const AllocationVariable& counts) {
  std::vector<int> numbers;
  for (const std::string_view part : split(counts.value, ',')) {
    std::string_view text = part;
    const auto repeats = take_repeats(text);
    const auto number = parse_integer(text);
    const auto most = static_cast<int64_t>(hosts_max - numbers.size());
    if (!number || *number < 1 || *number > slots_max || !repeats || *repeats < 1 ||
        *repeats > most) {
      return counts.refuse(format("expected numbers of 1..{} such as 4(x2),1, got \"{}\"",
                                  slots_max, printable(part)));
    }
    numbers.insert(numbers.end(), static_cast<size_t>(*repeats), static_cast<int>(*number));
  }
  return numbers;
}

}  // namespace dt
