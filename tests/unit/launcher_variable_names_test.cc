#include "launcher/variable_names.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("names are told apart by whose they are") {
  CHECK(is_host_part("HOME"));
  CHECK(is_host_part("SSH_AUTH_SOCK"));
  CHECK_FALSE(is_host_part("HOMES"));
  CHECK(is_outer_job("DTRAIN_RANK"));
  CHECK(is_outer_job("RANK"));
  CHECK_FALSE(is_outer_job("RANKS"));
}

TEST_CASE("a pattern fits a whole name, in its own case") {
  const std::vector<std::string> patterns = {"AWS_*", "?", "X[0-9]"};
  for (const char* name : {"AWS_", "AWS_KEY", "Y", "X7"}) {
    CAPTURE(name);
    CHECK(fits_any(name, patterns));
  }
  for (const char* name : {"AWS", "aws_KEY", "XY", "MY_AWS_KEY", ""}) {
    CAPTURE(name);
    CHECK_FALSE(fits_any(name, patterns));
  }
  CHECK_FALSE(fits_any("A", {}));
}

}  // namespace
}  // namespace dt
