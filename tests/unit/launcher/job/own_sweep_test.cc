#include "launcher/job/own_sweep.h"

#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>

namespace dt {
namespace {

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  Log log{Log::Level::normal, [](std::string_view) {}};
  OwnSweep sweep{{*loop, log, [](pid_t) { return false; }, {}}};
};

TEST_CASE_FIXTURE(Fixture, "OwnSweep ends nothing unless an agent was lost") {
  const pid_t child = ::fork();
  if (child == 0) ::execl("/bin/sleep", "sleep", "60", nullptr);
  CHECK(sweep.run());
  CHECK(::waitpid(child, nullptr, WNOHANG) == 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "OwnSweep ends the processes that a lost agent has left, and is over then") {
  const pid_t child = ::fork();
  if (child == 0) ::execl("/bin/sleep", "sleep", "60", nullptr);
  sweep.require();
  CHECK_FALSE(sweep.run());
  run_until(*loop, [this] { return sweep.run(); });
  CHECK(::kill(child, 0) < 0);  // it was collected, too
}

}  // namespace
}  // namespace dt
