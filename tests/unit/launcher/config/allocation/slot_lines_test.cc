#include "launcher/config/allocation/slot_lines.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("parse_slot_lines: each line is a slot of its host") {
  CHECK(parse_slot_lines("a\n\n  b \r\nA\n", "f").value() ==
        std::vector<Host>{{.name = "a", .slots = 2}, {.name = "b", .slots = 1}});
}

TEST_CASE("parse_slot_lines: wrong lines are refused with their place") {
  std::string many;
  for (int i = 0; i <= slots_max; ++i)
    many += "a\n";
  struct Case {
    std::string text;
    std::string message;
  };
  const Case cases[] = {
      {"\n\n", "f: names no host"},
      {"a\nb c\n", "f:2:3: expected one host on the line, got \"c\" behind it"},
      {"a\n b:2\n", "f:2:2: invalid character \":\" (0x3A) in host name (in \"b:2\")"},
      {many, "f:4097:1: host \"a\" is given more than 4096 times"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.message);
    const auto hosts = parse_slot_lines(c.text, "f");
    REQUIRE_FALSE(hosts.has_value());
    CHECK(hosts.error().message == c.message);
  }
}

}  // namespace
}  // namespace dt
