#include "launcher/ssh/config/config_line.h"

#include "base/format.h"
#include "base/text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// Returns "keyword|word|word", "-" for a line without a keyword, or the error.
std::string shown(std::string_view text) {
  const Result<std::optional<SshConfigLine>> line = parse_ssh_config_line(text);
  if (!line) return line.error().message;
  if (!*line) return "-";
  return (*line)->keyword + "|" + join((*line)->words, "|");
}

TEST_CASE("a line is a keyword and its words; blanks, one = and quotes as OpenSSH takes them") {
  struct Case {
    std::string text;
    std::string shown;
  };
  const Case cases[] = {
      {"", "-"},
      {" \t\r", "-"},
      {"# comment \"", "-"},
      {"  #x", "-"},
      {"Port 22", "port|22"},
      {"\tPort\t22 \r", "port|22"},
      {"Port=22", "port|22"},
      {"Port =22", "port|22"},
      {"Port = 22", "port|22"},
      {"Port == 22", "port|=|22"},
      {"=Port 22", "port|22"},
      {"\"Port\" 22", "port|22"},
      {"Po\"rt\" 22", "port|22"},
      {"\"Port", "-"},
      {"Host a b\t!c", "host|a|b|!c"},
      {"User \"a b\"c'd e'", "user|a bcd e"},
      {"User a\\ b \\\"c\\\" 'd\\'e' f\\g", "user|a b|\"c\"|d'e|f\\g"},
      {"User a#b #c d", "user|a#b"},
      {"User # a", "user|"},
      {std::string("User a\0b", 8), "user|a"},
      {"User", "no value after \"User\""},
      {"User=", "no value after \"User\""},
      {"User 'a", "a quote is not closed after \"User\""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(shown(c.text) == c.shown);
  }
}

TEST_CASE("the rest of a line keeps its quotes and what looks like a comment") {
  CHECK((*parse_ssh_config_line("ProxyCommand  = nc \"%h\" %p # x \n").value()).rest ==
        "nc \"%h\" %p # x");
}

}  // namespace
}  // namespace dt
