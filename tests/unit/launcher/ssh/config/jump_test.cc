#include "launcher/ssh/config/jump.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("ProxyJump is shown as ssh -G shows it; a bad one is refused") {
  struct Case {
    std::string text;
    std::string shown;
  };
  const Case cases[] = {
      {"hop", "hop"},
      {"none", ""},
      {"NONE", ""},
      {"none # comment", "none"},
      {"me@hop:2022", "me@hop:2022"},
      {"me@you@hop", "me@you@hop"},
      {"a, b", "a, b"},
      {"me@a:1,ssh://you@b:2/", "me@a:1,you@b:2"},
      {"ssh://me;x=y@hop", "me@hop"},
      {"[::1]:22", "[::1]:22"},
      {"[::1]", "[::1]"},
      {"10.0.0.1", "[10.0.0.1]"},
      {"hop:", "hop"},
      {"= hop # comment", "hop"},
      {"", "proxyjump: bad value \"\""},
      {"@hop", "proxyjump: bad value \"@hop\""},
      {"a,,b", "proxyjump: bad value \"a,,b\""},
      {"a,", "proxyjump: bad value \"a,\""},
      {"hop:0", "proxyjump: bad value \"hop:0\""},
      {"[::1", "proxyjump: bad value \"[::1\""},
      {"[::1]x", "proxyjump: bad value \"[::1]x\""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Result<std::string> jumps = parse_ssh_jumps(c.text);
    CHECK((jumps ? *jumps : jumps.error().message) == c.shown);
  }
}

}  // namespace
}  // namespace dt
