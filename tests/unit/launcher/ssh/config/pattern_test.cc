#include "launcher/ssh/config/pattern.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace dt {
namespace {

/// The definition of a match, without any optimization.
bool matches_plainly(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    return matches_plainly(text, pattern.substr(1)) ||
           (!text.empty() && matches_plainly(text.substr(1), pattern));
  }
  return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) &&
         matches_plainly(text.substr(1), pattern.substr(1));
}

TEST_CASE("a pattern matches as its definition says, for many texts and patterns") {
  std::mt19937 random(3);
  const auto text_of = [&random](std::string_view letters) {
    std::string text;
    for (size_t count = random() % 9; count > 0; --count)
      text += letters[random() % letters.size()];
    return text;
  };
  int matches = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = text_of("ab");
    const std::string pattern = text_of("ab?**");
    CAPTURE(text);
    CAPTURE(pattern);
    const bool expected = matches_plainly(text, pattern);
    if (expected) ++matches;
    CHECK(matches_pattern(text, pattern) == expected);
  }
  CHECK(matches > 1000);
}

TEST_CASE("a pattern of many stars is matched in time") {
  std::string pattern;
  for (int i = 0; i < 500; ++i)
    pattern += "*a";
  CHECK_FALSE(matches_pattern(std::string(100000, 'a') + "b", pattern));
}

TEST_CASE("in a list a negated pattern decides over all others") {
  struct Case {
    std::string patterns;
    ListMatch match;
  };
  const Case cases[] = {
      {"", ListMatch::none},
      {"node1", ListMatch::yes},
      {"other,node1", ListMatch::yes},
      {"NODE?", ListMatch::yes},
      {"!node1", ListMatch::negated},
      {"node*,!node1", ListMatch::negated},
      {"!node1,node*", ListMatch::negated},
      {"!node2,node*", ListMatch::yes},
      {"!node2", ListMatch::none},
      {"node2,,x", ListMatch::none},
      {"node1 ", ListMatch::none},
      {"node1," + std::string(1022, 'x'), ListMatch::yes},
      {"node1," + std::string(1023, 'x'), ListMatch::none},
  };
  for (const Case& c : cases) {
    CAPTURE(c.patterns);
    CHECK(matches_pattern_list("node1", c.patterns) == c.match);
  }
}

}  // namespace
}  // namespace dt
