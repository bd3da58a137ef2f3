#include "launcher/job/prepare_again.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("drop_failed_spares: spares that are lost leave the plan, each with a warning") {
  const auto loop = Loop::create().value();
  const auto fails = [](const Host& host) {
    return start_client({"sh", "-c", "echo no route to " + host.name + " >&2; exit 1"});
  };
  AgentGroup agents(
      *loop, {.connect_options =
                  ConnectOptions{.ssh = {}, .binary = {}, .architecture = {}, .other = fails},
              .on_connected = {}});
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 1}};
  request.spares = {{.name = "s", .slots = 1}, {.name = "t", .slots = 1}};
  Plan plan = make_plan(request).value();
  REQUIRE(agents.connect(hosts_of(plan), 2));
  while (agents.states() != std::vector<AgentState>(3, AgentState::lost))
    REQUIRE(loop->run_once(Clock::now() + seconds(60)));
  std::string logged;
  Log log(Log::Level::normal, [&logged](std::string_view line) { logged += line; });
  std::vector<Prepared> answers(3);
  answers[0].home = "/home/a";
  CHECK(drop_failed_spares(agents, log, plan, answers) == request.spares);
  CHECK(hosts_of(plan) == request.hosts);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].home == "/home/a");
  CHECK(agents.states().size() == 1);
  for (const char* const spare : {"s", "t"}) {
    CHECK_MESSAGE(logged.find(std::string("dtrain: warning: ") + spare + ": ") != std::string::npos,
                  logged);
    CHECK(logged.find(std::string("no route to ") + spare) != std::string::npos);
  }
}

}  // namespace
}  // namespace dt
