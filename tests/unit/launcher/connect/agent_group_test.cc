#include "launcher/connect/agent_group.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

TEST_CASE("an interruption ends the wait for agents that do not exit, and they are killed") {
  const auto loop = Loop::create().value();
  pid_t pid = 0;
  const auto stays = [&pid](const Host&) {
    auto client = start_client({"sleep", "600"});
    if (client) pid = client->process->pid();
    return client;
  };
  AgentGroup agents(
      *loop, {.connect_options =
                  ConnectOptions{.ssh = {}, .binary = {}, .architecture = {}, .other = stays},
              .on_connected = {}});
  REQUIRE(agents.connect({{.name = "node1", .user = {}}}));
  const Time far = Clock::now() + seconds(600);
  while (pid == 0)
    REQUIRE(loop->run_once(far));
  CHECK(agents.wait_for_exit({.deadline = far, .interrupted = [] { return true; }}));
  CHECK(kill(pid, 0) != 0);
}

}  // namespace
}  // namespace dt
