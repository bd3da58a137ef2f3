#include "comm/api/fork_detector.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

namespace dt {
namespace {

/// Runs `body` in a fork, and returns the fork's exit status.
template <class Body>
int status_of_fork(const Body& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(body());
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST_CASE("children and grandchildren are forks of the process, which itself is none") {
  for (const auto method : {ForkDetector::Method::page, ForkDetector::Method::process_number}) {
    const ForkDetector detector(method);
    CHECK(!detector.forked());
    const int status = status_of_fork([&] {
      const int grandchild = status_of_fork([&] { return detector.forked() ? 0 : 1; });
      return detector.forked() ? grandchild : 2;
    });
    CHECK(status == 0);
    CHECK(!detector.forked());
  }
}

TEST_CASE("a child that makes its own detector is no fork of itself") {
  CHECK(status_of_fork([] { return ForkDetector().forked() ? 1 : 0; }) == 0);
}

}  // namespace
}  // namespace dt
