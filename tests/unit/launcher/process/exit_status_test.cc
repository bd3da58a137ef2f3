#include "launcher/process/exit_status.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

TEST_CASE("ExitStatus describes itself as a shell does") {
  CHECK(ExitStatus{}.good());
  CHECK(ExitStatus{.code = 3}.shell_status() == 3);
  CHECK(ExitStatus{.code = 3}.text() == "exit status 3");
  CHECK(ExitStatus{.signal = SIGABRT}.shell_status() == 134);
  CHECK(ExitStatus{.signal = SIGABRT}.text() == "killed by SIGABRT");
}

TEST_CASE("exit_status_of follows the table of dtrain's own failures") {
  CHECK(exit_status_of(Errc::input) == 2);
  CHECK(exit_status_of(Errc::unreachable) == 3);
  CHECK(exit_status_of(Errc::refused) == 4);
  CHECK(exit_status_of(Errc::not_runnable) == 126);
  CHECK(exit_status_of(Errc::not_found) == 127);
}

}  // namespace
}  // namespace dt
