#include "launcher/console/status_line.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <stdlib.h>

namespace dt {
namespace {

const Time began = Time() + seconds(100);
const Time late = began + seconds(1);

TEST_CASE("StartProgress: nothing for a start that is quick") {
  StartProgress progress(began);
  progress.hosts(0, 4);
  CHECK(progress.line(began, 80).empty());
  CHECK(progress.line(began + StartProgress::patience - milliseconds(1), 80).empty());
  CHECK(progress.line(began + StartProgress::patience, 80) == "dtrain: 0 of 4 hosts connected…");
}

TEST_CASE("StartProgress: first the hosts, then the ranks, then nothing") {
  StartProgress progress(began);
  CHECK(progress.line(late, 80).empty());
  progress.hosts(3, 4);
  CHECK(progress.line(late, 80) == "dtrain: 3 of 4 hosts connected…");
  progress.hosts(4, 4);
  CHECK(progress.line(late, 80) == "dtrain: 4 of 4 hosts connected…");
  progress.ranks(0, 16);
  CHECK(progress.line(late, 80) == "dtrain: 0 of 16 ranks started…");
  progress.ranks(12, 16);
  CHECK(progress.line(late, 80) == "dtrain: 12 of 16 ranks started…");
  CHECK_FALSE(progress.ended());
  progress.ranks(16, 16);
  CHECK(progress.ended());
  CHECK(progress.line(late, 80).empty());
}

TEST_CASE("StartProgress: output ends it, and it does not come back") {
  StartProgress progress(began);
  progress.hosts(1, 1);
  progress.ranks(1, 2);
  CHECK_FALSE(progress.line(late, 80).empty());
  progress.end();
  progress.ranks(1, 3);
  CHECK(progress.ended());
  CHECK(progress.line(late, 80).empty());
}

TEST_CASE("StartProgress: the line never reaches the terminal's last column") {
  struct Case {
    size_t columns;
    std::string line;
  };
  const Case cases[] = {
      {0, "dtrain: 3 of 4 hosts connected…"},
      {32, "dtrain: 3 of 4 hosts connected…"},
      {31, "dtrain: 3 of 4 hosts connecte…"},
      {10, "dtrain: …"},
      {2, "…"},
      {1, ""},
  };
  StartProgress progress(began);
  progress.hosts(3, 4);
  for (const Case& c : cases)
    CHECK(progress.line(late, c.columns) == c.line);
}

TEST_CASE("wants_status_line: only for a terminal that can erase, with a user") {
  const auto loop = Loop::create().value();
  const auto sink_of = [&loop](const Fd& fd) {
    return Sink::open(*loop, fd.get(), [](const Error&) {}).value();
  };
  const Fd terminal(posix_openpt(O_RDWR | O_NOCTTY));
  REQUIRE(terminal);
  const Pipe pipe = make_pipe().value();
  const auto there = sink_of(terminal);
  CHECK(wants_status_line(*there, false, {{"TERM", "xterm"}}));
  CHECK(wants_status_line(*there, false, {{"TERM", "xterm"}, {"CI", ""}}));
  CHECK_FALSE(wants_status_line(*there, true, {{"TERM", "xterm"}}));
  CHECK_FALSE(wants_status_line(*there, false, {{"TERM", "xterm"}, {"CI", "true"}}));
  CHECK_FALSE(wants_status_line(*there, false, {{"TERM", "dumb"}}));
  CHECK_FALSE(wants_status_line(*there, false, {}));
  CHECK_FALSE(wants_status_line(*sink_of(pipe.write), false, {{"TERM", "xterm"}}));
}

}  // namespace
}  // namespace dt
