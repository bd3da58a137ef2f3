#include "launcher/process/program_query.h"

#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

namespace dt {
namespace {

ProgramQuery::Answer ask(const std::string& script, Duration patience = seconds(60)) {
  const auto loop = Loop::create().value();
  std::optional<ProgramQuery::Answer> answer;
  const auto query =
      ProgramQuery::start(*loop, {.path = "/bin/sh", .arguments = {"sh", "-c", script}}, patience,
                          [&](const ProgramQuery::Answer& given) { answer = given; })
          .value();
  CHECK(query->pid() > 0);
  run_until(*loop, [&] { return answer.has_value(); });
  return *answer;
}

TEST_CASE("ProgramQuery delivers what a program prints on both streams") {
  const ProgramQuery::Answer answer = ask("echo a; echo b >&2; exit 3");
  CHECK(answer.output == "a\nb\n");
  CHECK_FALSE(answer.late);
}

TEST_CASE("ProgramQuery kills a program that is late, and delivers what it has printed") {
  const ProgramQuery::Answer answer = ask("echo a; exec sleep 60", milliseconds(300));
  CHECK(answer.output == "a\n");
  CHECK(answer.late);
}

TEST_CASE("ProgramQuery does not wait for a process that the program leaves behind") {
  CHECK(ask("sleep 5 & echo a").output == "a\n");
}

TEST_CASE("ProgramQuery bounds the output") {
  CHECK(ask("head -c 60000 /dev/zero").output.size() < 2 * ProgramQuery::output_bytes_max);
}

TEST_CASE("ProgramQuery answers when the program cannot be run, or fails to start") {
  const auto loop = Loop::create().value();
  bool answered = false;
  const auto query = ProgramQuery::start(*loop, {.path = "/no/such", .arguments = {"x"}},
                                         seconds(9), [&](const ProgramQuery::Answer& answer) {
                                           CHECK(answer.output.empty());
                                           answered = true;
                                         });
  if (query) run_until(*loop, [&] { return answered; });
  CHECK(answered == query.has_value());
}

}  // namespace
}  // namespace dt
