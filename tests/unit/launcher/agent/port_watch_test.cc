#include "launcher/agent/port_watch.h"

#include "base/format.h"
#include "base/io/socket.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace dt {
namespace {

constexpr uid_t nobody = 65534;

/// Listens on a port that we hold, as this user can.
Fd listen_as(uid_t user, uint16_t port) {
  REQUIRE(seteuid(user) == 0);
  auto listener = listen_on({"127.0.0.1", port});
  REQUIRE(seteuid(0) == 0);
  return std::move(listener).value();
}

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  Fd held = hold_port(0).value();
  uint16_t port = local_address(held.get()).value().port;
  std::vector<PortTaken> taken;
  const bool root = geteuid() == 0;
  PortWatch watching{
      *loop, {.ports = {port}, .interval = milliseconds(1)}, [this](const PortTaken& found) {
        taken.push_back(found);
        loop->stop();
      }};
};

TEST_CASE_FIXTURE(Fixture,
                  "PortWatch: free ports, our own, and others' listeners elsewhere are not taken") {
  CHECK_FALSE(watching.find_taken());
  const Fd own = listen_on({"127.0.0.1", port}).value();
  CHECK_FALSE(watching.find_taken());
  if (!root) return;  // only root can make a listener of another user
  const Fd elsewhere = listen_as(nobody, 0);
  CHECK_FALSE(watching.find_taken());
}

TEST_CASE_FIXTURE(Fixture, "PortWatch sees the listener of another user, and its process") {
  if (!root) return;
  const Fd foreign = listen_as(nobody, port);
  const auto found = watching.find_taken();
  REQUIRE(found);
  CHECK(found->port == port);
  CHECK(found->uid == nobody);
  CHECK(found->process == format("dtrain_unit (pid {})", getpid()));
}

TEST_CASE_FIXTURE(Fixture, "PortWatch counts a task that has changed its user as ours") {
  if (!root) return;
  const Fd foreign = listen_as(nobody, port);
  Pipe changed = make_pipe().value();
  const pid_t task = fork();
  if (task == 0) {
    const bool done = setuid(nobody) == 0 && ::write(changed.write.get(), "x", 1) == 1;
    if (done) pause();
    _exit(1);
  }
  char byte = 0;
  REQUIRE(::read(changed.read.get(), &byte, 1) == 1);
  CHECK_FALSE(watching.find_taken());
  ::kill(task, SIGKILL);
  waitpid(task, nullptr, 0);
  CHECK(watching.find_taken());
}

TEST_CASE_FIXTURE(Fixture, "PortWatch checks repeatedly, and reports once") {
  if (!root) return;
  for (int i = 0; i < 3; ++i)
    REQUIRE(loop->run_once(Clock::now() + seconds(10)));
  CHECK(taken.empty());
  const Fd foreign = listen_as(nobody, port);
  REQUIRE(loop->run());
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].uid == nobody);
}

}  // namespace
}  // namespace dt
