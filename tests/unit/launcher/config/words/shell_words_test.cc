#include "launcher/config/words/shell_words.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("words are split as a shell does it") {
  const std::pair<const char*, Words> cases[] = {
      {"", {}},
      {" \t\n", {}},
      {"python ps.py", {"python", "ps.py"}},
      {"  a\tb\nc ", {"a", "b", "c"}},
      {"'a b' \"c d\"", {"a b", "c d"}},
      {"--x='a b'\"c\"d", {"--x=a bcd"}},
      {"'' \"\" a", {"", "", "a"}},
      {R"(a\ b \'c\" \\)", {"a b", "'c\"", "\\"}},
      {R"("a\"b\\c\$d\`e\f")", {R"(a"b\c$d`e\f)"}},
      {R"('a\b')", {R"(a\b)"}},
      {"a\\\nb", {"ab"}},
      {"\"a\\\nb\"", {"ab"}},
      {"$HOME *.py ~ #x {role}", {"$HOME", "*.py", "~", "#x", "{role}"}},
      {"a;b|c&d", {"a;b|c&d"}},
  };
  for (const auto& [text, words] : cases) {
    CAPTURE(text);
    CHECK(split_shell_words(text).value() == words);
  }
}

TEST_CASE("a quote that is never closed, and a backslash at the end, are errors") {
  CHECK(split_shell_words("a 'b").error().message == "a ' is never closed");
  CHECK(split_shell_words("\"a\\\"").error().message == "a \" is never closed");
  CHECK(split_shell_words("a\\").error().message == "nothing follows the last backslash");
}

}  // namespace
}  // namespace dt
