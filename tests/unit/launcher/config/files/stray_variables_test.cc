#include "launcher/config/files/stray_variables.h"

#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Warnings = std::vector<std::string>;

TEST_CASE("variables that dtrain does not know are named in one warning, with a guess") {
  const auto warnings = [](const Environment& environment, const OptionValues& given = {}) {
    return stray_variable_warnings(environment, {flags(given)});
  };
  const std::string ending = ": unknown to dtrain, and not forwarded without -x NAME";
  CHECK(warnings({{"DTRAIN_NP", "3"}}) ==
        Warnings{"DTRAIN_NP (did you mean DTRAIN_OPT_NP?)" + ending});
  CHECK(
      warnings({{"DTRAIN_DATA_FOLDER", "/d"}, {"DTRAIN_KERNEL", "avx2"}, {"DTRAIN_OTP_NP", "3"}}) ==
      Warnings{"DTRAIN_DATA_FOLDER, DTRAIN_KERNEL (did you mean DTRAIN_KERNELS?), DTRAIN_OTP_NP "
               "(did you mean DTRAIN_OPT_NP?)" +
               ending});
  CHECK(
      warnings({{"DTRAIN_KERNELS", "avx2"}, {"DTRAIN_RANK", "0"}, {"DTRAIN_OPT_NP", "3"}}).empty());
  CHECK(warnings({{"DTRAIN", "/bin/dtrain"},
                  {"DTRAIN_PORT_22_TCP", "tcp://10.0.0.1:22"},
                  {"DTRAIN_JOB_SERVICE_HOST", "10.0.0.1"}})
            .empty());
  CHECK(warnings({{"DTRAIN_A", "1"}, {"DTRAIN_B", "2"}}, {{"env", {"DTRAIN_A", "DTRAIN_B=3"}}})
            .empty());
}

TEST_CASE("variables of other launchers are named while no option replaces them") {
  const Environment environment = {{"HOROVOD_START_TIMEOUT", "77"},
                                   {"PET_MAX_RESTARTS", "4"},
                                   {"PET_RDZV_BACKEND", "c10d"},
                                   {"HOROVOD_CYCLE_TIME", "1"}};
  CHECK(stray_variable_warnings(environment, {}) ==
        Warnings{"HOROVOD_START_TIMEOUT (write DTRAIN_OPT_START_TIMEOUT), PET_MAX_RESTARTS "
                 "(write DTRAIN_OPT_MAX_RESTARTS): not read by dtrain"});
  CHECK(stray_variable_warnings(
            environment, {flags({{"max-restarts", {"4"}}}), flags({{"start-timeout", {"5"}}})})
            .empty());
}

}  // namespace
}  // namespace dt
