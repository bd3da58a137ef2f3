#include "base/color.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("wants_color: the option, then NO_COLOR, CLICOLOR_FORCE, CLICOLOR, TERM, the terminal") {
  using Variables = std::map<std::string, std::string>;
  struct Case {
    Variables environment;
    bool on_terminal;
    bool elsewhere;
  };
  const Case cases[] = {
      {{}, true, false},
      {{{"TERM", "xterm"}}, true, false},
      {{{"TERM", "dumb"}}, false, false},
      {{{"NO_COLOR", "1"}}, false, false},
      {{{"NO_COLOR", ""}}, true, false},
      {{{"CLICOLOR", "0"}}, false, false},
      {{{"CLICOLOR", "1"}}, true, false},
      {{{"CLICOLOR_FORCE", "1"}}, true, true},
      {{{"CLICOLOR_FORCE", "0"}}, true, false},
      {{{"CLICOLOR_FORCE", ""}}, true, false},
      {{{"CLICOLOR_FORCE", "1"}, {"CLICOLOR", "0"}, {"TERM", "dumb"}}, true, true},
      {{{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}, false, false},
  };
  for (const Case& c : cases) {
    CHECK(wants_color(ColorChoice::automatic, c.environment, true) == c.on_terminal);
    CHECK(wants_color(ColorChoice::automatic, c.environment, false) == c.elsewhere);
    for (const bool terminal : {true, false}) {
      CHECK(wants_color(ColorChoice::always, c.environment, terminal));
      CHECK_FALSE(wants_color(ColorChoice::never, c.environment, terminal));
    }
  }
}

TEST_CASE("parse_color_choice knows three words") {
  CHECK(parse_color_choice("auto") == ColorChoice::automatic);
  CHECK(parse_color_choice("always") == ColorChoice::always);
  CHECK(parse_color_choice("never") == ColorChoice::never);
  CHECK_FALSE(parse_color_choice("Always"));
}

TEST_CASE("painted begins from a clean state and leaves one") {
  CHECK(painted("x", "31") == "\x1b[0;31mx\x1b[0m");
}

}  // namespace
}  // namespace dt
