#include "launcher/config/hosts/host_range.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/hosts.h"

#include <cstdint>
#include <optional>

namespace dt {
namespace {

/// Longer numbers are not numbers of hosts, or their range exceeds hosts_max.
constexpr size_t digits_max = 9;

std::optional<int64_t> parse_number(std::string_view text) {
  if (text.size() > digits_max || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return parse_integer(text);
}

/// The numbers from first to last, inclusive, with at least `width` digits.
struct Numbers {
  int64_t first = 0;
  int64_t last = 0;
  size_t width = 0;
};

Result<Numbers> parse_numbers(std::string_view text, const SourceLocation& place) {
  const size_t dash = text.find('-');
  const std::string_view low = text.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : text.substr(dash + 1);
  const std::optional<int64_t> first = parse_number(low);
  const std::optional<int64_t> last = parse_number(high);
  if (first && last && *first <= *last) return Numbers{*first, *last, low.size()};
  return place.refuse(text, format("expected numbers in brackets, such as [01-16] or [1-3,7], "
                                   "got \"{}\"",
                                   printable(text)));
}

/// Returns each of the names `begun` followed by each number of the ranges.
Result<std::vector<std::string>> append_numbers(const std::vector<std::string>& begun,
                                                const std::vector<Numbers>& ranges,
                                                std::string_view name,
                                                const SourceLocation& place) {
  int64_t count = 0;
  for (const Numbers& range : ranges)
    count += range.last - range.first + 1;
  if (count * static_cast<int64_t>(begun.size()) > static_cast<int64_t>(hosts_max)) {
    return place.refuse(name,
                        format("\"{}\" stands for more than {} hosts", printable(name), hosts_max));
  }
  std::vector<std::string> names;
  for (const std::string& before : begun) {
    for (const Numbers& range : ranges) {
      for (int64_t number = range.first; number <= range.last; ++number)
        names.push_back(format("{}{:0{}}", before, number, range.width));
    }
  }
  return names;
}

/// A name in three parts: "node", "07" and ".lan". Without a number all of it is before.
struct NumberedName {
  std::string_view before;
  std::string_view number;
  std::string_view after;
};

NumberedName split_name(std::string_view name) {
  constexpr std::string_view numerals = "0123456789";
  const size_t last = name.find_last_of(numerals);
  if (last == std::string_view::npos) return {name, {}, {}};
  const size_t before = name.find_last_not_of(numerals, last);
  const size_t first = before == std::string_view::npos ? 0 : before + 1;
  if (last + 1 - first > digits_max) return {name, {}, {}};
  return {name.substr(0, first), name.substr(first, last + 1 - first), name.substr(last + 1)};
}

/// Consecutive names that differ in their numbers only.
struct NameRun {
  NumberedName like;
  std::vector<Numbers> ranges;
};

/// Adds the name to the run. Returns false for a name that does not fit.
bool extend(NameRun& run, const NumberedName& name) {
  if (name.number.empty() || run.like.number.empty() || name.before != run.like.before ||
      name.after != run.like.after) {
    return false;
  }
  const int64_t number = *parse_number(name.number);
  Numbers& range = run.ranges.back();
  if (number == range.last + 1 && format("{:0{}}", number, range.width) == name.number) {
    range.last = number;
  } else {
    run.ranges.push_back({number, number, name.number.size()});
  }
  return true;
}

std::string text_of(const NameRun& run) {
  if (run.ranges.empty()) return std::string(run.like.before);
  std::vector<std::string> texts;
  for (const Numbers& range : run.ranges) {
    const std::string first = format("{:0{}}", range.first, range.width);
    texts.push_back(
        range.first == range.last ? first : format("{}-{:0{}}", first, range.last, range.width));
  }
  const bool single = run.ranges.size() == 1 && run.ranges[0].first == run.ranges[0].last;
  const std::string numbers = join(texts, ",");
  return format("{}{}{}", run.like.before, single ? numbers : format("[{}]", numbers),
                run.like.after);
}

}  // namespace

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> entries;
  bool inside = false;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] != ',' || inside) continue;
    entries.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  entries.push_back(text.substr(begin));
  return entries;
}

std::string compress_names(const std::vector<std::string>& names) {
  std::vector<NameRun> runs;
  for (const std::string_view whole : names) {
    const NumberedName name = split_name(whole);
    if (!runs.empty() && extend(runs.back(), name)) continue;
    NameRun& run = runs.emplace_back(NameRun{name, {}});
    if (name.number.empty()) continue;
    const int64_t number = *parse_number(name.number);
    run.ranges.push_back({number, number, name.number.size()});
  }
  std::vector<std::string> texts;
  for (const NameRun& run : runs)
    texts.push_back(text_of(run));
  return join(texts, ",");
}

Result<std::vector<std::string>> expand_ranges(std::string_view name, const SourceLocation& place) {
  std::vector<std::string> names = {""};
  std::string_view rest = name;
  while (!rest.empty()) {
    const size_t open = rest.find('[');
    for (std::string& begun : names)
      begun += rest.substr(0, open);
    if (open == std::string_view::npos) return names;
    const size_t close = rest.find(']', open);
    if (close == std::string_view::npos) {
      const std::string_view bracket = rest.substr(open);
      return place.refuse(bracket, format("missing \"]\" in \"{}\" (column {})", printable(name),
                                          place.column(bracket)));
    }
    std::vector<Numbers> ranges;
    for (const std::string_view text : split(rest.substr(open + 1, close - open - 1), ',')) {
      const Numbers numbers = TRY(parse_numbers(text, place));
      ranges.push_back(numbers);
    }
    names = TRY(append_numbers(names, ranges, name, place));
    rest.remove_prefix(close + 1);
  }
  return names;
}

}  // namespace dt
