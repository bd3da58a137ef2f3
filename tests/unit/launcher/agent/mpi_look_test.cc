#include "launcher/agent/mpi_look.h"

#include "tests/sim/job/virtual_loop.h"
#include "tests/unit/new_children.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <optional>
#include <vector>

namespace dt {
namespace {

/// Virtual time passes until the check begins: its process then has all the time that it needs.
struct Fixture {
  VirtualTime time;
  std::unique_ptr<Loop> loop = VirtualLoop::create(time, [this](Time until) {
                                 if (!asked) time.now = until;
                                 return true;
                               }).value();
  Time began = time.now;
  std::optional<Time> asked;
  std::optional<uint32_t> alone;
  NewChildren children;

  ~Fixture() { children.collect(); }
};

TEST_CASE_FIXTURE(Fixture, "MpiLook checks the tasks once, a second after its start") {
  const MpiLook look(
      *loop,
      [this] {
        CHECK_FALSE(asked);
        asked = time.now;
        return std::vector<pid_t>{getpid()};
      },
      [this](uint32_t count) {
        CHECK_FALSE(alone);
        alone = count;
        loop->stop();
      });
  CHECK(look.processes().empty());
  CHECK(loop->run().has_value());
  REQUIRE(asked);
  CHECK(*asked - began == seconds(1));
  CHECK(alone == 0);
  // Its process has answered and ended, so the pid may be used again.
  CHECK(look.processes().empty());
}

TEST_CASE_FIXTURE(Fixture, "MpiLook returns its process while that runs") {
  MpiLook look(
      *loop,
      [this] {
        asked = time.now;
        loop->stop();
        return std::vector<pid_t>{getpid()};
      },
      [](uint32_t) {});
  CHECK(loop->run().has_value());
  CHECK(look.processes().size() == 1);
}

}  // namespace
}  // namespace dt
