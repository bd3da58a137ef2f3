#include "launcher/process/pidfd.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace dt {
namespace {

TEST_CASE("a pidfd signals its process, and no process after that has been collected") {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (;;)
      pause();
  }
  const Fd process = open_pidfd(pid);
  REQUIRE(process);
  CHECK(signal_pidfd(process.get(), 0));
  CHECK(signal_pidfd(process.get(), SIGKILL));
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  CHECK(WTERMSIG(status) == SIGKILL);
  CHECK_FALSE(signal_pidfd(process.get(), 0));
  CHECK(errno == ESRCH);
  CHECK_FALSE(open_pidfd(pid));
  CHECK(errno == ESRCH);
}

}  // namespace
}  // namespace dt
