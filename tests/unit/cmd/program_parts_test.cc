#include "cmd/program_parts.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Words = std::vector<std::string>;

Result<RunArguments> split(const Words& words) {
  RunArguments run = TRY(read_run_arguments(words));
  TRY(split_programs(run));
  return run;
}

std::string error_of(const Words& words) {
  const auto run = split(words);
  return run ? "accepted" : run.error().message;
}

TEST_CASE("each program behind a \":\" becomes a ranked role with its own command") {
  const auto run = split(
      {"-np", "1", "./a", "x y", ":", "-n", "2", "-x", "A=1", "./b", "it's", ":", "-np4", "./c"});
  REQUIRE_MESSAGE(run, run.error().message);
  CHECK(run->command == Words{"./a", "x y"});
  CHECK(run->flags.values ==
        OptionValues{{"np", {"1"}},
                     {"role", {"program1=2", "program2=4"}},
                     {"role-ranked", {"program1", "program2"}},
                     {"role-env", {"program1=A=1"}},
                     {"role-command", {"program1=./b 'it'\\''s'", "program2=./c"}}});
}

TEST_CASE("hosts of several programs are those of their roles") {
  const auto run = split({"-np", "1", "-H", "h1", "a", ":", "-np", "2", "-H", "h2:1,h3:1", "b"});
  REQUIRE_MESSAGE(run, run.error().message);
  CHECK(run->flags.values.at("role") == Words{"program1=2@h2:1,h3:1", "worker=1@h1"});
  CHECK_FALSE(run->flags.values.contains("hosts"));
  const auto all = split({"-H", "h1,h2", "-np", "1", "a", ":", "-np", "1", "b"});
  REQUIRE(all);
  CHECK(all->flags.values.at("hosts") == Words{"h1,h2"});
  CHECK(all->flags.values.at("role") == Words{"program1=1"});
}

TEST_CASE("a \":\" that no option follows, and any behind \"--\", belongs to the program") {
  for (const Words& words :
       {Words{"-np", "1", "a", ":", "b"}, Words{"-np", "1", "a", ":"}, Words{"a", ":", "-"},
        Words{"-np", "1", "--", "a", ":", "-np", "2", "b"}}) {
    const auto run = split(words);
    REQUIRE(run);
    CHECK_FALSE(run->flags.values.contains("role"));
    CHECK(run->command.back() == words.back());
  }
}

TEST_CASE("a program needs its number, and has no option of the whole job") {
  CHECK(error_of({"-np", "1", "a", ":", "-x", "A=1", "b"}) ==
        "b: without a number of processes; with programs separated by \":\", each has its own: "
        "dtrain run -np 1 a : -np 2 b");
  CHECK(error_of({"a", ":", "-np", "2", "b"}).starts_with("a: without a number of processes"));
  CHECK(error_of({"-np", "1", "a", ":", "-np", "2", "--timeout", "3", "b"}) ==
        "--timeout: this option counts for the whole job; write it before the first program, not "
        "before b (there: -np, -H and -x)");
  CHECK(error_of({"-np", "1", "a", ":", "-np", "2"}).starts_with("no command behind \":\""));
  CHECK(error_of({"-np", "1", "a", ":", "-np", "2", "-x", "A", "b"}) ==
        "-x A: write -x A=VALUE before b, or -x A before the first program");
  CHECK(error_of({"--role", "worker=1", "-np", "1", "a", ":", "-np", "2", "b"}) ==
        "--role: \":\" separates programs, and makes their roles; leave one of them out");
}

}  // namespace
}  // namespace dt
