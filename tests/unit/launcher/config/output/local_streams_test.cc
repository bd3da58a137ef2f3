#include "launcher/config/output/local_streams.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace dt {
namespace {

constexpr StreamChoice no_stream = {};
constexpr StreamChoice only_output = {.output = true, .error = false};
constexpr StreamChoice only_error = {.output = false, .error = true};
constexpr StreamChoice both_streams = {.output = true, .error = true};

TEST_CASE("a number chooses streams of all local ranks") {
  struct Case {
    std::string_view text;
    StreamChoice choice;
  };
  const Case cases[] = {
      {"0", no_stream}, {"1", only_output}, {"2", only_error}, {"3", both_streams}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const LocalStreams streams = parse_local_streams(c.text).value();
    CHECK(streams.of(0) == c.choice);
    CHECK(streams.of(-1) == c.choice);  // a task without local rank
    CHECK(streams.any() == c.choice.any());
  }
}

TEST_CASE("a list chooses streams of its local ranks, and the last entry of a rank counts") {
  const LocalStreams streams = parse_local_streams("0:1, 12:3,2:3,2:2").value();
  CHECK(streams.of(0) == only_output);
  CHECK(streams.of(12) == both_streams);
  CHECK(streams.of(2) == only_error);
  CHECK(streams.of(1) == no_stream);
  CHECK(streams.of(-1) == no_stream);
  CHECK(streams.any());
  CHECK_FALSE(parse_local_streams("0:0,1:0").value().any());
}

TEST_CASE("other texts choose no streams") {
  for (const std::string_view text : {"", "4", "-1", "13", "0:", ":1", "0:4", "x:1", "0:1,", "-1:1",
                                      "4096:1", "0:1;1:1", "0=1"}) {
    CAPTURE(text);
    const auto streams = parse_local_streams(text);
    REQUIRE_FALSE(streams.has_value());
    CHECK(streams.error().message ==
          "expected 0, 1, 2 or 3, or a list of local ranks with these, such as 0:1,1:3, got \"" +
              std::string(text) + "\"");
  }
}

}  // namespace
}  // namespace dt
