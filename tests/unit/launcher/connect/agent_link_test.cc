#include "launcher/connect/agent_link.h"

#include "launcher/process/sweep.h"
#include "tests/unit/new_children.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace dt {
namespace {

/// While this lives, the process can open no descriptor.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none = {.rlim_cur = 0, .rlim_max = before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

/// A link to an agent of this machine.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  // Without files the agent would end by itself before the test kills it.
  ConnectOptions options = {
      .ssh = {}, .binary = {}, .architecture = "x86_64", .open_files_max = 1024, .other = {}};
  int lost_count = 0;
  AgentLink link{*loop,
                 {.name = "localhost", .here = true},
                 options,
                 {.on_message = [](const FrameView&) { return Result<>(); },
                  .on_lost = [this] { ++lost_count; }}};

  Result<> start_without_descriptors() {
    const NoDescriptors limit;
    return link.start();
  }
};

TEST_CASE_FIXTURE(Fixture, "AgentLink to an agent of this machine waits for it for longer") {
  CHECK(link.lease().dead_after() == options.local_dead_after);
  AgentLink other(*loop, {.name = "node1"}, options, {.on_message = {}, .on_lost = {}});
  CHECK(other.lease().dead_after() == options.dead_after);
}

TEST_CASE_FIXTURE(Fixture, "AgentLink whose agent cannot start has the reason, and can be closed") {
  const auto started = start_without_descriptors();
  REQUIRE_FALSE(started);
  CHECK(started.error().message.find("Too many open files") != std::string::npos);
  link.close();
  CHECK(link.closed());
  CHECK(link.ended());
  CHECK(lost_count == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "AgentLink whose agent cannot start can be lost, and calls on_lost once") {
  REQUIRE_FALSE(start_without_descriptors());
  link.lose("no agent");
  link.lose("again");
  link.kill();
  CHECK(link.why() == "no agent");
  CHECK(lost_count == 1);
}

TEST_CASE_FIXTURE(Fixture, "AgentLink alone reaps its agent, and explains its end") {
  const NewChildren all;
  REQUIRE(link.start());
  const std::vector<pid_t> children = all.pids();
  REQUIRE(children.size() == 1);
  const pid_t agent = children.front();
  CHECK(link.owns(agent));
  CHECK_FALSE(link.owns(getpid()));
  REQUIRE(::kill(agent, SIGKILL) == 0);
  siginfo_t ended = {};
  REQUIRE(waitid(P_PID, static_cast<id_t>(agent), &ended, WEXITED | WNOWAIT) == 0);
  reap_strangers([this](pid_t pid) { return link.owns(pid); });
  run_until(*loop, [this] { return link.closed(); });
  CAPTURE(link.why());
  CHECK(link.why().find("its process ended: killed by SIGKILL") != std::string::npos);
  CHECK(link.ended());
  CHECK_FALSE(link.owns(agent));
}

}  // namespace
}  // namespace dt
