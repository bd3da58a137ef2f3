#include "launcher/environment/environment.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("-x of a variable that is not set is an error with its remedy") {
  const Result<Environment> result = forwarded_environment({{"PATH", "/usr/bin"}}, {{"FOO", {}}});
  REQUIRE(!result);
  CHECK(result.error() ==
        Error{Errc::input, "-x: FOO is not set in the environment; write FOO=VALUE"});
  const Result<Environment> from_file =
      forwarded_environment({{"PATH", "/usr/bin"}}, {{"FOO", {}, "job.env:3:1"}});
  CHECK(from_file.error().message ==
        "job.env:3:1: FOO is not set in the environment; write FOO=VALUE");
}

TEST_CASE("names that match --env-exclude are not forwarded, unless they are set with -x") {
  const Environment environment = {{"AWS_KEY", "k"}, {"AWS_ID", "i"}, {"LANG", "C"}, {"A1", ""}};
  const auto left = [&](const std::vector<EnvironmentSetting>& settings,
                        const std::vector<std::string>& excluded) {
    return forwarded_environment(environment, settings, excluded).value();
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
