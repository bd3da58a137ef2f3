#include "launcher/export/kubernetes/task_pattern.h"

#include "base/format.h"
#include "launcher/export/kubernetes/pod.h"

#include <algorithm>
#include <cstddef>

namespace dt {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Splits a text into runs of digits and the texts between them.
std::vector<std::string_view> digit_runs(std::string_view text) {
  std::vector<std::string_view> runs;
  size_t begin = 0;
  for (size_t at = 1; at <= text.size(); ++at) {
    const bool ends = at == text.size() || is_digit(text[at]) != is_digit(text[begin]);
    if (!ends) continue;
    runs.push_back(text.substr(begin, at - begin));
    begin = at;
  }
  return runs;
}

/// Returns the length of a beginning that all texts share. A number or an escape may not begin in
/// it and end behind it.
size_t shared_length(const std::vector<std::string_view>& texts) {
  std::string_view shared = texts.front();
  for (const std::string_view text : texts) {
    if (text.starts_with(shared)) continue;
    const auto [end, other] = std::ranges::mismatch(shared, text);
    shared = std::string_view(shared.begin(), end);
  }
  while (!shared.empty() && (is_digit(shared.back()) || shared.back() == '$'))
    shared.remove_suffix(1);
  return shared.size();
}

/// The run at one place of each task's text.
using Column = std::vector<std::string_view>;

std::optional<std::string> column_pattern(const Column& column,
                                          const std::vector<TaskNumber>& numbers) {
  const auto is_first = [&column](std::string_view run) { return run == column.front(); };
  if (std::ranges::all_of(column, is_first)) return std::string(column.front());
  for (const TaskNumber& number : numbers) {
    const auto fits = [](std::string_view run, int own) { return run == format("{}", own); };
    if (std::ranges::equal(column, number.numbers, fits)) return format("$({})", number.variable);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> task_pattern(const std::vector<std::string_view>& texts,
                                        const std::vector<TaskNumber>& numbers) {
  const auto is_first = [&texts](std::string_view text) { return text == texts.front(); };
  if (std::ranges::all_of(texts, is_first)) return literal_text(texts.front());
  const size_t shared = shared_length(texts);
  std::vector<std::string> literals;
  for (const std::string_view text : texts)
    literals.push_back(literal_text(text.substr(shared)));
  std::vector<std::vector<std::string_view>> all;
  for (const std::string& text : literals)
    all.push_back(digit_runs(text));
  const auto has_as_many = [&all](const auto& runs) { return runs.size() == all.front().size(); };
  if (!std::ranges::all_of(all, has_as_many)) return std::nullopt;
  std::string pattern = literal_text(texts.front().substr(0, shared));
  for (size_t at = 0; at < all.front().size(); ++at) {
    Column column;
    for (const auto& runs : all)
      column.push_back(runs[at]);
    const auto part = column_pattern(column, numbers);
    if (!part) return std::nullopt;
    // A $ before the number would be taken for an escape.
    const bool joins_dollar = part->starts_with('$') && pattern.ends_with('$');
    if (joins_dollar) pattern += '$';
    pattern += *part;
  }
  return pattern;
}

}  // namespace dt
