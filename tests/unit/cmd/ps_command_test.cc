#include "cmd/ps_command.h"

#include "base/io/log.h"
#include "cmd/options.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("ps takes the files of its checkpoints") {
  const auto plain = parse_command_line({"ps"});
  REQUIRE(plain);
  CHECK(plain->command == Invocation::Command::ps);
  CHECK(plain->ps == PsOptions{});
  const auto given =
      parse_command_line({"ps", "--checkpoint", "/data/model", "--checkpoint-every=100"});
  REQUIRE(given);
  CHECK(given->ps == PsOptions{.checkpoint = "/data/model", .checkpoint_every = 100});
}

TEST_CASE("ps refuses options that mean nothing") {
  struct Case {
    std::vector<std::string> words;
    const char* message;
  };
  const std::vector<Case> cases = {
      {{"ps", "--checkpoint-every", "5"},
       "ps: --checkpoint-every needs --checkpoint, the names of the files"},
      {{"ps", "--checkpoint", "a", "--checkpoint-every", "0"},
       "ps: --checkpoint-every: expected a number of steps from 1, got 0"},
      {{"ps", "--checkpoint", ""}, "ps: --checkpoint: expected the beginning of the files' names"},
  };
  for (const Case& which : cases) {
    const auto parsed = parse_command_line(which.words);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().message == which.message);
  }
  CHECK_FALSE(parse_command_line({"ps", "--port", "1"}));
}

}  // namespace
}  // namespace dt
