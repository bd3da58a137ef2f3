#include "base/exit_guard.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace dt {
namespace {

TEST_CASE("nothing enters a guard once exit has begun") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    static const ExitGuard* guard = nullptr;
    // Runs after the function of the guard, as OpenSSL's does not.
    std::atexit([] { _exit(guard->enter().owns_lock() ? 1 : 0); });
    guard = std::make_unique<ExitGuard>().release();
    if (!guard->enter().owns_lock()) _exit(2);
    std::exit(3);  // NOLINT(concurrency-mt-unsafe): that is the test
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a guard may end before the process") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    {
      const ExitGuard guard;
    }
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): that is the test
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace dt
