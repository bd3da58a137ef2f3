#include "launcher/config/option_value.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

OptionSource source(const std::string& name, const std::vector<std::string>& values,
                    const std::string& origin) {
  return {.values = {{name, values}}, .origins = {{name, origin}}};
}

TEST_CASE("the first source that has an option gives it, the last value of it counts") {
  const std::vector<OptionSource> sources = {source("np", {}, "-np"),
                                             source("np", {"2", "3"}, "DTRAIN_OPT_NP"),
                                             source("np", {"4"}, "dtrain.toml:1:1: np")};
  const auto given = find_option(sources, "np");
  REQUIRE(given);
  CHECK(given->value() == "3");
  CHECK(given->integer(1, 8) == 3);
  CHECK_FALSE(find_option(sources, "hosts"));
}

TEST_CASE("an error begins with the place where the value was written") {
  const OptionSource made = source("on-failure", {"die"}, "dtrain.toml:3:1: on-failure");
  const auto given = find_in(made, "on-failure");
  REQUIRE(given);
  const std::string place = "dtrain.toml:3:1: on-failure: ";
  CHECK(given->choice().error().message == place + "expected kill or continue, got \"die\"");
  CHECK(given->flag().error().message == place + "expected true or false, got \"die\"");
  CHECK(given->integer(0, 9).error().message == place + "expected 0..9, got \"die\"");
  CHECK(given->duration().error().message.starts_with(place));
  CHECK(given->text("a file") == "die");
}

TEST_CASE("a slip in one of the words to choose from finds the word") {
  const OptionSource slip = source("on-failure", {"continu"}, "--on-failure");
  CHECK(find_in(slip, "on-failure")->choice().error().message ==
        "--on-failure: expected kill or continue, got \"continu\"; did you mean continue?");
}

TEST_CASE("a number has digits and a point, and is not below 0") {
  for (const auto& [text, value] : {std::pair{"0", 0.0}, {"2.5", 2.5}, {"1e3", 1000.0}}) {
    const OptionSource given = source("cycle-time-ms", {text}, "x");
    CHECK(find_in(given, "cycle-time-ms")->number() == value);
  }
  for (const char* text : {"", "-1", "nan", "inf", "1,5", "2x", "1e999"}) {
    CAPTURE(text);
    const OptionSource given = source("cycle-time-ms", {text}, "x");
    CHECK(find_in(given, "cycle-time-ms")
              ->number()
              .error()
              .message.starts_with("x: expected a number from 0, got "));
  }
}

TEST_CASE("empty values are refused where a value is required") {
  const OptionSource empty = source("chdir", {""}, "--chdir");
  CHECK(find_in(empty, "chdir")->text("a folder").error().message ==
        "--chdir: expected a folder, got \"\"");
  const OptionSource zero = source("timeout", {"0"}, "--timeout");
  CHECK(find_in(zero, "timeout")->duration() == Duration::zero());
  CHECK(find_in(zero, "timeout")->positive_duration().error().message ==
        "--timeout: expected a time longer than 0, got 0");
}

}  // namespace
}  // namespace dt
