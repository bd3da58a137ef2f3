#include "launcher/kept/detach.h"

#include "base/bytes.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace dt {
namespace {

/// Returns the answer of detach_job() in the user's process; `job` runs in the other one.
std::optional<int> detached(const JobFolder& folder, const std::function<int(Fd started)>& job) {
  const pid_t user = ::getpid();
  auto made = detach_job(folder);
  if (::getpid() != user) ::_exit(made ? job(*std::move(made->started)) : 9);
  REQUIRE(made.has_value());
  return made->status;
}

TEST_CASE("check_can_detach: only node 0 of a job of nodes leaves the terminal") {
  RunConfig config;
  CHECK(check_can_detach(config).has_value());
  config.nodes = NodeOptions{.least = 2, .count = 2, .rank = 0};
  CHECK(check_can_detach(config).has_value());
  config.nodes->rank = 1;
  CHECK(check_can_detach(config).error().message.starts_with(
      "--detach: this is node 1, and the job is kept on node 0; leave --detach out here"));
  config.nodes->rank.reset();
  CHECK(check_can_detach(config).error().message.starts_with(
      "--detach: node 0 keeps the job, and without its rank"));
}

TEST_CASE("detach_job: a session of its own, whose start and end are noticed") {
  const TemporaryFolder folder;
  const JobFolder job = {.id = "a-1", .path = folder.path()};
  const Pipe done = make_pipe().value();
  const auto running = detached(job, [&](const Fd& started) {
    const bool apart = ::getsid(0) == ::getpid() && ::getsid(::getppid()) != ::getpid();
    static_cast<void>(::dt::write_all(STDOUT_FILENO, as_bytes("said\n")).has_value());
    static_cast<void>(::dt::write_all(started.get(), as_bytes("\n")).has_value());
    static_cast<void>(::dt::write_all(done.write.get(), as_bytes(apart ? "y" : "n")).has_value());
    return 0;
  });
  CHECK_FALSE(running);
  char byte = 0;
  REQUIRE(::read(done.read.get(), &byte, 1) == 1);
  CHECK(byte == 'y');
  CHECK(folder.read("log") == "said\n");
  ::wait(nullptr);
  CHECK(detached(job, [](const Fd&) { return 5; }) == 5);
  CHECK(detached({.id = "a", .path = "/nonexistent"}, [](const Fd&) { return 0; }) == 9);
}

}  // namespace
}  // namespace dt
