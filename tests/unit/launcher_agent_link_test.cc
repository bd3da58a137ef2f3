#include "launcher/agent_link.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

namespace dt {
namespace {

/// No descriptor can be opened while it lives.
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
  AgentWays ways = {.ssh = {}, .binary = {}, .architecture = "x86_64", .other = {}};
  int gone = 0;
  AgentLink link{
      *loop,
      {.name = "localhost", .here = true},
      ways,
      {.on_message = [](const FrameView&) { return Result<>(); }, .on_gone = [this] { ++gone; }}};

  Result<> start_without_descriptors() {
    const NoDescriptors limit;
    return link.start();
  }
};

TEST_CASE_FIXTURE(Fixture, "AgentLink whose agent cannot start says why, and can be let go") {
  const auto started = start_without_descriptors();
  REQUIRE_FALSE(started);
  CHECK(started.error().message.find("Too many open files") != std::string::npos);
  link.let_go();
  CHECK(link.gone());
  CHECK(link.over());
  CHECK(gone == 0);
}

TEST_CASE_FIXTURE(Fixture, "AgentLink whose agent cannot start can be lost, and is told once") {
  REQUIRE_FALSE(start_without_descriptors());
  link.lose("no agent");
  link.lose("again");
  link.kill();
  CHECK(link.why() == "no agent");
  CHECK(gone == 1);
}

}  // namespace
}  // namespace dt
