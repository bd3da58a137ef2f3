#include "base/log.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

std::string logged(Log::Level level) {
  std::string lines;
  Log log(level, [&lines](std::string_view line) { lines += line; });
  log.error("rank {} failed", 3);
  log.warn("{} is slow", "node07");
  log.info("listening");
  return lines;
}

TEST_CASE("failures are always shown, warnings unless quiet, the rest when verbose") {
  CHECK(logged(Log::Level::quiet) == "dtrain: rank 3 failed\n");
  CHECK(logged(Log::Level::normal) == "dtrain: rank 3 failed\ndtrain: warning: node07 is slow\n");
  CHECK(logged(Log::Level::verbose) ==
        "dtrain: rank 3 failed\ndtrain: warning: node07 is slow\ndtrain: listening\n");
}

TEST_CASE("each line of a message starts with the program's name, in one call") {
  std::vector<std::string> calls;
  Log log(Log::Level::normal, [&calls](std::string_view line) { calls.emplace_back(line); });
  log.error("one\ntwo");
  CHECK(calls == std::vector<std::string>{"dtrain: one\ndtrain: two\n"});
}

TEST_CASE("in colour only the name and the word are painted") {
  std::string said;
  Log log(Log::Level::verbose, [&said](std::string_view line) { said += line; });
  log.use_color();
  log.error("one\ntwo");
  log.warn("three\nfour");
  log.info("five");
  CHECK(said ==
        "\x1b[0;31mdtrain:\x1b[0m one\n\x1b[0;31mdtrain:\x1b[0m two\n"
        "dtrain: \x1b[0;33mwarning:\x1b[0m three\ndtrain: four\n"
        "dtrain: five\n");
}

}  // namespace
}  // namespace dt
