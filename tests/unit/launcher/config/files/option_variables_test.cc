#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("variables named DTRAIN_OPT_ give options; empty ones do not, lists split at blanks") {
  const OptionSource source =
      read_environment_options({"PATH=/bin", "DTRAIN_OPT_NP=4", "DTRAIN_OPT_START_TIMEOUT=5s",
                                "DTRAIN_OPT_CHDIR=", "DTRAIN_OPT_ENV=A=1  B", "DTRAIN_RANK=0"})
          .value();
  CHECK(source.values ==
        OptionValues{{"np", {"4"}}, {"start-timeout", {"5s"}}, {"env", {"A=1", "B"}}});
  CHECK(source.origins.at("np") == "DTRAIN_OPT_NP");
}

TEST_CASE("a variable's fault is named by the variable") {
  const auto source = read_environment_options({"DTRAIN_OPT_NP=x"}).value();
  CHECK(error_of(decide({source})) == "DTRAIN_OPT_NP: expected 1..65536, got \"x\"");
  const auto unknown = [](const char* entry) {
    return read_environment_options({entry}).error().message;
  };
  CHECK(unknown("DTRAIN_OPT_START_TIMOUT=1") ==
        "DTRAIN_OPT_START_TIMOUT: no such option; did you mean DTRAIN_OPT_START_TIMEOUT?");
  CHECK(unknown("DTRAIN_OPT_HELP=1") ==
        "DTRAIN_OPT_HELP: this option belongs on the command line: --help");
  CHECK(unknown("DTRAIN_OPT_ZEBRA=1") == "DTRAIN_OPT_ZEBRA: no such option");
}

}  // namespace
}  // namespace dt
