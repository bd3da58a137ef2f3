#include "launcher/process/argument_space.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("texts are counted as execve counts them: with their NUL and their pointer") {
  CHECK(argument_bytes(std::vector<std::string>{}) == 0);
  CHECK(argument_bytes(std::vector<std::string>{"sh", ""}) == 3 + 8 + 1 + 8);
  CHECK(argument_bytes(Environment{{"A", "12"}}) == 5 + 8);
}

TEST_CASE("a quarter of the stack's limit, between 128 KiB and 6 MiB, can be had") {
  CHECK(argument_bytes_max(0) == 131072);
  CHECK(argument_bytes_max(uint64_t{8} << 20) == uint64_t{2} << 20);
  CHECK(argument_bytes_max(~uint64_t{0}) == uint64_t{6} << 20);
}

TEST_CASE("B29: a command that does not fit is refused with both numbers") {
  CHECK(check_argument_space({"sh"}, 89, 100).has_value());
  const auto refused = check_argument_space({"sh"}, 90, 100);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() ==
        Error{Errc::input,
              "the command and its environment can take 101 bytes, and a program can be started "
              "with 100 here (a quarter of ulimit -s); leave variables out with --env-exclude"});
}

}  // namespace
}  // namespace dt
