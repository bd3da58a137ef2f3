#include "base/environment.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("an environment's entries become a map and back; the first of two wins") {
  const Environment environment = parse_environment({"A=1", "B=", "C=x=y", "none", "=odd", "A=2"});
  CHECK(environment == Environment{{"A", "1"}, {"B", ""}, {"C", "x=y"}});
  CHECK(environment_entries(environment) == std::vector<std::string>{"A=1", "B=", "C=x=y"});
}

}  // namespace
}  // namespace dt
