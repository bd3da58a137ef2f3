#include "launcher/config/env_file.h"

#include "base/format.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using namespace std::string_literals;

/// Returns the variables as "NAME=VALUE|NAME", or the error.
std::string shown(const std::string& text) {
  const auto settings = parse_env_file(text, "job.env");
  if (!settings) return settings.error().message;
  std::string all;
  for (const EnvironmentSetting& setting : *settings) {
    all += (all.empty() ? "" : "|") + setting.name + (setting.value ? "=" + *setting.value : "");
  }
  return all;
}

TEST_CASE("a file of variables is read as docker reads it") {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"A=1\nB=2", "A=1|B=2"},
      {"# all\n\n  \t\n  # more\nA=1\n", "A=1"},
      {"  A=1\n", "A=1"},
      {"A= b c \n", "A= b c "},
      {"A='x' # no comment\n", "A='x' # no comment"},
      {"A=1=2\nB=\n", "A=1=2|B="},
      {"PASSED\n", "PASSED"},
      {"\xEF\xBB\xBF"
       "A=1\r\nB=ä\r\n",
       "A=1|B=ä"},
      {"A=\xff\n", "A=\xff"},
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text);
    CHECK(shown(text) == expected);
  }
}

TEST_CASE("B28: a line that sets no variable is named with its place") {
  const std::pair<std::string, std::string> cases[] = {
      {"A=1\n=2\n", "job.env:2:1: expected NAME or NAME=VALUE, got \"=2\""},
      {"A=1\n  export B=2\n",
       "job.env:2:9: expected NAME=VALUE without blanks in the name, got \"export B\""},
      {"A = 1\n", "job.env:1:2: expected NAME=VALUE without blanks in the name, got \"A \""},
      {"A=\0\n"s, "job.env:1:1: \"A=\\x00\": a variable cannot hold a NUL byte"},
      {"BIG=" + std::string(131068, 'x') + "\n",
       "job.env:1:1: BIG=xxxxxxxx… takes 131072 bytes; a variable can have 131071"},
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text.substr(0, 40));
    CHECK(shown(text) == expected);
  }
}

TEST_CASE("a setting has the place where it is written") {
  const auto settings = parse_env_file("A=1\n  B\n", "job.env").value();
  CHECK(settings[0].origin == "job.env:1:1");
  CHECK(settings[1].origin == "job.env:2:3");
}

}  // namespace
}  // namespace dt
