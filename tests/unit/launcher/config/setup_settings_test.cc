#include "launcher/config/setup_settings.h"

#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

namespace dt {
namespace {

std::optional<SetupOptions> setup_of(const OptionSources& sources) {
  RunConfig config;
  CHECK(read_setup(sources, config).has_value());
  return config.setup;
}

TEST_CASE("--setup has a shell's lines, which nothing splits") {
  CHECK(!setup_of({flags({})}));
  CHECK(setup_of({flags({{"setup", {"pip install a,b", "make; echo 'x  y'"}}})}) ==
        SetupOptions{.commands = {"pip install a,b", "make; echo 'x  y'"}});
  CHECK(setup_of(
            {flags({{"setup", {"make"}}, {"setup-timeout", {"1h"}}, {"setup-once", {"true"}}})}) ==
        SetupOptions{.commands = {"make"}, .timeout = seconds(3600), .once = true});
  CHECK(decide({flags({{"np", {"1"}}, {"setup", {"make"}}})})->setup ==
        SetupOptions{.commands = {"make"}});
}

TEST_CASE("a variable has one command of --setup in each of its lines") {
  const OptionSource variables =
      read_environment_options({"DTRAIN_OPT_SETUP=python3 -m venv x\n\npip install  y\n"}).value();
  CHECK(setup_of({flags({}), variables}) ==
        SetupOptions{.commands = {"python3 -m venv x", "pip install  y"}});
}

TEST_CASE("a file's settings of --setup are for jobs that have commands") {
  const OptionSource file = {.values = {{"setup-timeout", {"1m"}}, {"setup-once", {"true"}}},
                             .origins = {{"setup-timeout", "dtrain.toml:1:1: setup-timeout"}}};
  CHECK(!setup_of({flags({}), file}));
  CHECK(setup_of({flags({{"setup", {"make"}}}), file}) ==
        SetupOptions{.commands = {"make"}, .timeout = seconds(60), .once = true});
}

TEST_CASE("bad values of --setup and its options are refused, with their place") {
  const std::string empty =
      "--setup: expected a command for a shell, such as 'pip install -r requirements.txt', got an "
      "empty one";
  const Refusal cases[] = {
      {{{"setup", {""}}}, empty},
      {{{"setup", {"make", " \n\t"}}}, empty},
      {{{"setup", {std::string("a\0b", 3)}}}, empty},
      {{{"setup", {"make"}}, {"setup-timeout", {"0"}}},
       "--setup-timeout: expected a time longer than 0, got 0"},
      {{{"setup", {"make"}}, {"setup-once", {"x"}}},
       "--setup-once: expected true or false, got \"x\""},
      {{{"setup-once", {"true"}}}, "--setup-once: without --setup COMMAND, no host is set up"},
      {{{"setup-timeout", {"5m"}}}, "--setup-timeout: without --setup COMMAND, no host is set up"}};
  for (const auto& [values, message] : cases) {
    CAPTURE(message);
    RunConfig config;
    const Result<> read = read_setup({flags(values)}, config);
    CHECK((read ? "accepted" : read.error().message) == message);
  }
}

}  // namespace
}  // namespace dt
