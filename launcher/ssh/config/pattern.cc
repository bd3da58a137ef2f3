#include "launcher/ssh/config/pattern.h"

#include <algorithm>

namespace dt {
namespace {

constexpr size_t pattern_bytes_max = 1023;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Applies `fold` to the pattern's letters.
template <class Fold>
bool matches(std::string_view text, std::string_view pattern, Fold fold) {
  // Only the last star is tried again. The pattern before it has matched at the earliest place,
  // which leaves the most text for the rest.
  size_t t = 0;
  size_t p = 0;
  size_t star = std::string_view::npos;
  size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || fold(pattern[p]) == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool matches_pattern(std::string_view text, std::string_view pattern) {
  return matches(text, pattern, [](char c) { return c; });
}

ListMatch matches_pattern_list(std::string_view text, std::string_view patterns) {
  ListMatch match = ListMatch::none;
  while (!patterns.empty()) {
    std::string_view pattern = patterns.substr(0, patterns.find(','));
    patterns.remove_prefix(std::min(pattern.size() + 1, patterns.size()));
    const bool negated = pattern.starts_with('!');
    if (negated) pattern.remove_prefix(1);
    if (pattern.size() >= pattern_bytes_max) return ListMatch::none;
    if (!matches(text, pattern, lower)) continue;
    if (negated) return ListMatch::negated;
    match = ListMatch::yes;
  }
  return match;
}

}  // namespace dt
