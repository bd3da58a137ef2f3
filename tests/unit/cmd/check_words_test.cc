#include "cmd/check_words.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

using Words = std::vector<std::string>;

std::string error_of(const Words& words) {
  const auto read = read_check_words(words);
  return read ? "accepted" : read.error().message;
}

TEST_CASE("check reads modules, and the command of a job behind --") {
  const auto read = read_check_words(Words{"--import", "torch, numpy.linalg", "-H", "a", "--json",
                                           "--import=x", "--", "python", "-x"})
                        .value();
  CHECK(read.check.json);
  CHECK(read.check.imports == Words{"torch", "numpy.linalg", "x"});
  CHECK(read.check.command == Words{"python", "-x"});
  CHECK(read.flags.values == OptionValues{{"hosts", {"a"}}});
  CHECK(read_check_words(Words{"--help", "--", "x"}).value().help);
}

TEST_CASE("other texts than modules are refused, and so are too many") {
  for (const char* value : {"", "a b", "os;x", "-c", "a..b", "1a"}) {
    CAPTURE(value);
    CHECK(error_of({std::string("--import=") + value})
              .starts_with("--import: expected modules of Python, as torch,numpy, got \""));
  }
  std::string many = "m";
  for (int i = 0; i < 64; ++i)
    many += ",m";
  CHECK(error_of({"--import", many}) == "--import: 65 modules; at most 64");
}

TEST_CASE("a command without -- before it is refused: it may be a host") {
  for (const Words& words : {Words{"python"}, {"-H", "a", "python", "--", "x"}})
    CHECK(error_of(words).starts_with("check: starts no command, so \"python\" means nothing"));
  CHECK(error_of({"--"}) == "accepted");
}

}  // namespace
}  // namespace dt
