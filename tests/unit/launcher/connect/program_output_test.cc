#include "launcher/connect/program_output.h"

#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <optional>

namespace dt {
namespace {

/// Returns the output of the program, or the error.
std::string output_of(const std::vector<std::string>& command) {
  const std::unique_ptr<Loop> loop = Loop::create().value();
  std::optional<Result<std::string>> result;
  const ProgramOutput program(
      *loop, command, [&result](Result<std::string> output) { result = std::move(output); });
  run_until(*loop, [&result] { return result.has_value(); });
  return *result ? **result : result->error().message;
}

TEST_CASE("the whole output of a program is reported when it has ended") {
  CHECK(output_of({"sh", "-c", "echo a; exec echo b"}) == "a\nb\n");
  CHECK(output_of({"true"}).empty());
  CHECK(output_of({"head", "-c", "3000000", "/dev/zero"}).size() == ProgramOutput::bytes_max);
}

TEST_CASE("the error of a program that fails has the first line of its stderr") {
  CHECK(output_of({"sh", "-c", "echo out; echo why >&2; echo end >&2; exit 3"}) ==
        "sh -c echo out; echo why >&2; echo end >&2; exit 3: why (exit status 3)");
  CHECK(output_of({"no-such-program"}).find("no-such-program") != std::string::npos);
}

}  // namespace
}  // namespace dt
