#include "launcher/console/tail.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("Tail keeps the last lines, bounded and printable") {
  Tail tail;
  for (int i = 0; i < 5000; ++i)
    tail.add("line " + std::to_string(i) + "\n");
  const std::vector<std::string> lines = tail.lines();
  REQUIRE(lines.size() == Tail::lines_max);
  CHECK(lines.back() == "line 4999");
  CHECK(lines.front() == "line 4992");
}

TEST_CASE("Tail begins with a whole character") {
  for (const size_t last : {4090, 4091, 4092}) {
    Tail whole;
    whole.add("漢漢漢" + std::string(last, '\n') + "end");
    CHECK(whole.lines().front().front() != '\\');
    Tail pieces;
    pieces.add("漢漢漢");
    pieces.add(std::string(last, '\n'));
    pieces.add("end");
    CHECK(pieces.lines() == whole.lines());
  }
}

TEST_CASE("Tail keeps the last state of a progress bar, and shows escapes as hex") {
  Tail tail;
  tail.add("10%\r99%\r\n\n\x1b[31mred\n");
  CHECK(tail.lines() == std::vector<std::string>{"99%", "\\x1B[31mred"});
}

}  // namespace
}  // namespace dt
