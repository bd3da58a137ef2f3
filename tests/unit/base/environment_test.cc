#include "base/environment.h"

#include <doctest/doctest.h>

#include <cstdlib>

namespace dt {
namespace {

TEST_CASE("an environment's entries become a map and back; the first of two wins") {
  const Environment environment = parse_environment({"A=1", "B=", "C=x=y", "none", "=odd", "A=2"});
  CHECK(environment == Environment{{"A", "1"}, {"B", ""}, {"C", "x=y"}});
  CHECK(environment_entries(environment) == std::vector<std::string>{"A=1", "B=", "C=x=y"});
}

TEST_CASE("the variables of this process are read") {
  setenv("DTRAIN_ENVIRONMENT_TEST", "a=b", 1);
  CHECK(process_environment().at("DTRAIN_ENVIRONMENT_TEST") == "a=b");
  unsetenv("DTRAIN_ENVIRONMENT_TEST");
  CHECK_FALSE(process_environment().contains("DTRAIN_ENVIRONMENT_TEST"));
}

}  // namespace
}  // namespace dt
