#include "launcher/environment/environment.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("-x of a variable that is not set is left out, with a warning") {
  const Environment environment = {{"PATH", "/usr/bin"}};
  const std::vector<EnvironmentSetting> settings = {
      {"FOO", {}}, {"PATH", {}}, {"BAR", "1"}, {"BAZ", {}, "job.env:3:1"}};
  CHECK(forwarded_environment(environment, settings) ==
        Environment{{"PATH", "/usr/bin"}, {"BAR", "1"}});
  CHECK(unset_settings(environment, settings) ==
        std::vector<std::string>{
            "-x: FOO is not set in the environment, so no process gets it; write FOO=VALUE",
            "job.env:3:1: BAZ is not set in the environment, so no process gets it; write "
            "BAZ=VALUE"});
}

TEST_CASE("names that match --env-exclude are not forwarded, unless they are set with -x") {
  const Environment environment = {{"AWS_KEY", "k"}, {"AWS_ID", "i"}, {"LANG", "C"}, {"A1", ""}};
  const auto left = [&](const std::vector<EnvironmentSetting>& settings,
                        const std::vector<std::string>& excluded) {
    return forwarded_environment(environment, settings, excluded);
  };
  CHECK(left({}, {"AWS_*"}) == Environment{{"A1", ""}, {"LANG", "C"}});
  CHECK(left({}, {"AWS_?D", "A[0-9]"}) == Environment{{"AWS_KEY", "k"}, {"LANG", "C"}});
  CHECK(left({}, {"AWS", "lang", "["}) == environment);
  CHECK(left({{"AWS_ID", {}}, {"A1", "2"}}, {"*"}) == Environment{{"A1", "2"}, {"AWS_ID", "i"}});
  CHECK(host_environment({{"SSH_TTY", "t"}, {"HOME", "/h"}}, {"SSH_*"}) ==
        Environment{{"HOME", "/h"}});
}

}  // namespace
}  // namespace dt
