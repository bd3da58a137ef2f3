#include "base/environment.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

namespace dt {
namespace {

TEST_CASE("an environment's entries become a map and back; the first of two wins") {
  const Environment environment = parse_environment({"A=1", "B=", "C=x=y", "none", "=odd", "A=2"});
  CHECK(environment == Environment{{"A", "1"}, {"B", ""}, {"C", "x=y"}});
  CHECK(environment_entries(environment) == std::vector<std::string>{"A=1", "B=", "C=x=y"});
}

TEST_CASE("the current folder keeps the links of PWD, where that is the same folder") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/real");
  std::filesystem::create_directory_symlink("real", folder.path() + "/link");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path() + "/link");
  const std::string real = std::filesystem::current_path().string();
  CHECK(current_folder({{"PWD", folder.path() + "/link"}}) == folder.path() + "/link");
  CHECK(current_folder({{"PWD", folder.path()}}) == real);
  CHECK(current_folder({{"PWD", "../link"}}) == real);
  CHECK(current_folder({{"PWD", folder.path() + "/none"}}) == real);
  CHECK(current_folder({}) == real);
  std::filesystem::current_path(before);
}

TEST_CASE("the variables of this process are read") {
  setenv("DTRAIN_ENVIRONMENT_TEST", "a=b", 1);
  CHECK(process_environment().at("DTRAIN_ENVIRONMENT_TEST") == "a=b");
  unsetenv("DTRAIN_ENVIRONMENT_TEST");
  CHECK_FALSE(process_environment().contains("DTRAIN_ENVIRONMENT_TEST"));
}

}  // namespace
}  // namespace dt
