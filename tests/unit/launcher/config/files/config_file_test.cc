#include "base/text.h"
#include "launcher/config/config.h"
#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using namespace std::string_literals;

Result<RunConfig> decide(const std::vector<OptionSource>& sources) {
  return make_run_config(sources, {"true"},
                         [](const std::string&) -> Result<std::string> { return "a slots=2\n"s; });
}

TEST_CASE("a TOML file gives options under their long names, each with its place") {
  const OptionSource source = read_toml_options(
                                  "# job\n"
                                  "np = 4\n"
                                  "hosts = [\"a:2\", \"b:2\"]\n"
                                  "  env = \"A=1\"\n"
                                  "quiet = true\n"
                                  "verbose = false\n"
                                  "grace = 5\n"
                                  "heartbeat = 0.5\n"
                                  "timeout = \"2m\"\n",
                                  "dtrain.toml")
                                  .value();
  CHECK(source.values == OptionValues{{"np", {"4"}},
                                      {"hosts", {"a:2", "b:2"}},
                                      {"env", {"A=1"}},
                                      {"quiet", {"true"}},
                                      {"verbose", {"false"}},
                                      {"grace", {"5"}},
                                      {"heartbeat", {"0.5"}},
                                      {"timeout", {"2m"}}});
  CHECK(source.origins.at("np") == "dtrain.toml:2:1: np");
  CHECK(source.origins.at("env") == "dtrain.toml:4:3: env");
  const RunConfig config = decide({source}).value();
  CHECK(config.heartbeat == milliseconds(500));
  CHECK(config.quiet);
}

TEST_CASE("a TOML file's faults are named with line and column") {
  const std::pair<std::string, std::string> cases[] = {
      {"np = 0", "dtrain.toml:1:1: np: expected 1..65536, got 0"},
      {"\n\nnp = \"4\"", "dtrain.toml:3:1: np: expected a whole number, got a string"},
      {"np = 1.5", "dtrain.toml:1:1: np: expected a whole number, got a number with a point"},
      {"quiet = 1", "dtrain.toml:1:1: quiet: expected true or false, got a whole number"},
      {"chdir = true", "dtrain.toml:1:1: chdir: expected a string, got true or false"},
      {"hosts = [1]",
       "dtrain.toml:1:1: hosts: expected a string or an array of strings, got an array"},
      {"grace = 1979-05-27",
       "dtrain.toml:1:1: grace: expected a duration such as \"30s\", or a number of seconds, got "
       "a date or time"},
      {"np = 1\ngrace = -1",
       "dtrain.toml:2:1: grace: expected a duration such as 10, 10s, 500ms, 2m, 1h30m or 00:05:00, "
       "got '-1'"},
      {"np = 1\n[grace]\na = 1",
       "dtrain.toml:2:2: [grace]: dtrain.toml has no tables; write each option as a line of its "
       "own, such as: np = 4"},
      {"env = {A = \"1\"}",
       "dtrain.toml:1:1: env: expected no table; write: env = [\"NAME=VALUE\"]"},
      {"np = 2\ntiemout = 5", "dtrain.toml:2:1: unknown option \"tiemout\"; did you mean timeout?"},
      {"num-proc = 2", "dtrain.toml:1:1: unknown option \"num-proc\"; did you mean np?"},
      {"zebra = 5", "dtrain.toml:1:1: unknown option \"zebra\""},
      {"config-file = \"x\"", "dtrain.toml:1:1: config-file: this option cannot stand in a file"},
      {"hosts = \"a:1\"\nhostfile = \"hosts\"",
       "dtrain.toml:1:1: hosts: conflicts with dtrain.toml:2:1: hostfile; give one of them"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    const Result<OptionSource> source = read_toml_options(text, "dtrain.toml");
    const std::string error = source ? error_of(decide({*source})) : source.error().message;
    // The line and a caret follow the message of the reader.
    CHECK(error.substr(0, error.find('\n')) == message);
    CHECK((source || error.ends_with("^")));
  }
}

TEST_CASE("a text that is no TOML is refused with its place, the line and a caret") {  // B24 B27
  const std::string deep = "np = " + std::string(10'000, '[');
  const std::string far = "# \n" + std::string(200, ' ') + "np 4";
  const std::pair<std::string, std::string> cases[] = {
      {"np 4",
       "dtrain.toml:1:4: Error while parsing key-value pair: expected '=', saw '4'\n"
       "  np 4\n"
       "     ^"},
      {"np = 1\r\n\tquiet = tru\r\nx",
       "dtrain.toml:2:13: Error while parsing boolean: expected 'true', saw 'tru\\x0D'\n"
       "   quiet = tru\n"
       "              ^"},
      {"np = 4\nhosts = \"a",
       "dtrain.toml:2:11: Error while parsing string: encountered end-of-file\n"
       "  hosts = \"a\n"
       "            ^"},
      {"# f\xC3\xBCr\nchdir = \"\xC3\xBC\" \xff",
       "dtrain.toml:2:12: Encountered invalid utf-8 sequence\n"
       "  chdir = \"\xC3\xBC\" \\xFF\n"
       "             ^"},
      {far,
       "dtrain.toml:2:204: Error while parsing key-value pair: expected '=', saw '4'\n"
       "  " +
           std::string(57, ' ') + "np 4\n  " + std::string(60, ' ') + "^"},
      {"np = 99999999999999999999",
       "dtrain.toml:1:26: Error while parsing decimal integer: '99999999999999999999' is not "
       "representable in 64 bits\n"
       "  np = 99999999999999999999\n"
       "                           ^"},
      {"np = 1979-13-27",
       "dtrain.toml:1:13: Error while parsing date: expected month between 1 and 12 (inclusive), "
       "saw 13\n"
       "  np = 1979-13-27\n"
       "              ^"},
      // An assertion of toml++ would end the program here.
      {"np = 1\n\n  [[[a\nquiet = true\n",
       "dtrain.toml:3: this is no TOML\n"
       "    [[[a\n"
       "    ^"},
      // An assertion of toml++ claims that such letters cannot be here.
      {"np = 1\xC3\xA4",
       "dtrain.toml:1:7: Error while parsing decimal integer: expected digit, saw '\xC3\xA4'\n"
       "  np = 1\xC3\xA4\n"
       "        ^"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    const Result<OptionSource> source = read_toml_options(text, "dtrain.toml");
    CHECK((source ? "accepted" : source.error().message) == message);
  }
  const Result<OptionSource> nested = read_toml_options(deep, "dtrain.toml");
  REQUIRE(!nested);
  CHECK(nested.error().message.find("64") != std::string::npos);
  CHECK(nested.error().message.size() < 500);
}

TEST_CASE("a letter that is no ASCII is refused wherever only ASCII may stand") {
  // One letter of each part into which toml++ divides Unicode.
  for (const std::string letter : {"\xC3\xA4", "\xD0\x96", "\xE1\x9A\x80", "\xE2\x82\xAC",
                                   "\xE3\x81\x82", "\xEF\xBC\xA1", "\xF0\x9F\x90\xA7"}) {
    CAPTURE(letter);
    CHECK(!read_toml_options(letter + " = 1", "dtrain.toml"));
    CHECK(!read_toml_options("np " + letter + "= 1", "dtrain.toml"));
    CHECK(!read_toml_options("np = 1" + letter, "dtrain.toml"));
    CHECK(read_toml_options("chdir = \"\"\"\\\n" + letter + "\"\"\" # " + letter, "dtrain.toml"));
  }
}

TEST_CASE("a key that is given twice is refused with the line of the first") {  // B25
  const std::pair<std::string, std::string> cases[] = {
      {"np = 1\n\nnp = 2",
       "dtrain.toml:3:6: \"np\" is defined again; the first is in line 1\n"
       "  np = 2\n"
       "       ^"},
      {"# job\n\"np\" = 1\n  'np'=2",
       "dtrain.toml:3:8: \"np\" is defined again; the first is in line 2\n"
       "    'np'=2\n"
       "         ^"},
      {"np = 1\n[np]\n",
       "dtrain.toml:2:1: \"np\" is defined again; the first is in line 1\n"
       "  [np]\n"
       "  ^"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    const Result<OptionSource> source = read_toml_options(text, "dtrain.toml");
    CHECK((source ? "accepted" : source.error().message) == message);
  }
}

}  // namespace
}  // namespace dt
