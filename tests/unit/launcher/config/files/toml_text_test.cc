#include "launcher/config/files/toml_text.h"

#include "launcher/config/config.h"
#include "launcher/config/options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a string is written so that TOML reads it back") {
  for (const char* text : {"", "plain", "a\"b\\c", "tab\tnew\nline", "\x01", "\x7f", "äö€"}) {
    CAPTURE(text);
    const auto read = read_toml_options("chdir = " + toml_string(text), "t");
    REQUIRE(read);
    CHECK(read->values.at("chdir") == std::vector<std::string>{text});
  }
  CHECK(toml_string("a\"b\\\n") == R"("a\"b\\\u000A")");
  CHECK(toml_string("\xff") == R"("\\xFF")");
}

TEST_CASE("a value has its option's kind, and is a string where it has another") {
  struct Case {
    std::string_view option;
    std::vector<std::string> values;
    std::string text;
  };
  const Case cases[] = {
      {"np", {"4"}, "4"},
      {"np", {"2", "4"}, "4"},
      {"np", {"x"}, "\"x\""},
      {"quiet", {"yes"}, "true"},
      {"quiet", {"0"}, "false"},
      {"quiet", {"maybe"}, "\"maybe\""},
      {"grace", {"3"}, "3"},
      {"grace", {"3s"}, "\"3s\""},
      {"cycle-time-ms", {"2.5"}, "2.5"},
      {"cycle-time-ms", {"2."}, "\"2.\""},
      {"hosts", {"a:2"}, "\"a:2\""},
      {"hosts", {"a:2", "b:2"}, "[\"a:2\", \"b:2\"]"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(toml_value(*find_option(c.option), c.values) == c.text);
  }
}

}  // namespace
}  // namespace dt
