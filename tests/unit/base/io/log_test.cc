#include "base/io/log.h"

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

TEST_CASE("no foreign text reaches the terminal as control sequences, at any level") {
  std::string said;
  Log log(Log::Level::verbose, [&said](std::string_view line) { said += line; });
  const std::string words = "\x1b]0;title\x07\x1b[2J\b\r\xc2\x9b\x7f";
  const std::string shown = "\\x1B]0;title\\x07\\x1B[2J\\x08\\x0D\\xC2\\x9B\\x7F";
  log.use_color();
  log.error("{}", words);
  log.warn("{}", words);
  log.print("{}", words);
  log.info("{}\n{}", words, words);
  CHECK(said == "\x1b[0;31mdtrain:\x1b[0m " + shown + "\ndtrain: \x1b[0;33mwarning:\x1b[0m " +
                    shown + "\ndtrain: " + shown + "\ndtrain: " + shown + "\ndtrain: " + shown +
                    "\n");
}

TEST_CASE("a long message is shown whole") {
  std::string said;
  Log log(Log::Level::normal, [&said](std::string_view line) { said += line; });
  const std::string words(100'000, '\x1b');
  log.error("{}", words);
  CHECK(said.size() == std::string_view("dtrain: \n").size() + 4 * words.size());
  CHECK(said.ends_with("\\x1B\n"));
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
