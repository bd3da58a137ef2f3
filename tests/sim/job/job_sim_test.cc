#include "base/format.h"
#include "tests/sim/job/job_world.h"
#include "tests/sim/seeds.h"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace dt {

namespace {

/// How the agents of a scenario are started.
enum class Agents : uint8_t { by_ssh, dial };

std::unique_ptr<JobWorld> world_of(uint64_t seed, Agents agents = Agents::by_ssh) {
  Random random(seed);
  Scenario scenario = random_scenario(random);
  if (agents == Agents::dial) make_dialed(random, scenario);
  return std::make_unique<JobWorld>(
      format("seed {} (to repeat it: DTRAIN_SIM_SEED={} job_sim_test)", seed, seed), random,
      std::move(scenario));
}

void check_promises(Agents agents) {
  const auto [first, seeds] = chosen_seeds();
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const auto world = world_of(seed, agents);
    if (seeds == 1) world->judge().want_story();
    world->run();
    if (seeds == 1) std::fputs(world->judge().story().c_str(), stderr);
    CHECK_MESSAGE(world->judge().complaint().empty(), world->judge().complaint());
  }
}

TEST_CASE("a job keeps its promises under every disturbance") {
  check_promises(Agents::by_ssh);
}

TEST_CASE("a job whose agents dial keeps its promises under every disturbance") {
  check_promises(Agents::dial);
}

TEST_CASE("the same seed makes the same run") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const Agents agents = seed % 2 == 0 ? Agents::by_ssh : Agents::dial;
    const auto first = world_of(seed, agents);
    const auto second = world_of(seed, agents);
    first->run();
    second->run();
    CHECK_MESSAGE(first->judge().trace() == second->judge().trace(), "seed ", seed);
  }
}

TEST_CASE("a thousand hosts start and join within three seconds") {
  for (const bool dialed : {false, true}) {
    Random random(1);
    Scenario scenario = large_scenario(random, 1000, 1);
    scenario.dialed = dialed;
    JobWorld world("a thousand hosts", random, std::move(scenario));
    world.run();
    CHECK(world.judge().complaint().empty());
    CHECK(world.outcome() == Outcome());
    REQUIRE(world.joined_after());
    CHECK(*world.joined_after() < seconds(3));
  }
}

TEST_CASE("a rank that never calls is reported once, by name, however long the others wait") {
  Random random(1);
  Scenario scenario = large_scenario(random, 5, 2);
  scenario.config.stall_report = seconds(5);
  scenario.config.timeout = seconds(60);
  for (HostFate& host : scenario.hosts)
    for (TaskFate& task : host.tasks)
      task.meets = true;
  scenario.hosts[3].tasks[1].late = std::chrono::hours(1);
  JobWorld world("a rank never calls", random, std::move(scenario));
  world.judge().want_story();
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome().exit_status == 124);
  CHECK_MESSAGE(world.judge().story().find(
                    "ranks 0-6, 8, 9 wait for rank 7\ndtrain:   rank 7 (host node0003, "
                    "pid 1001) is in no call of libdtrain since barrier #1") != std::string::npos,
                world.judge().story());
}

TEST_CASE("with --dump-stacks tasks write their stacks before the job ends") {
  for (const bool dumps : {false, true}) {
    Random random(1);
    Scenario scenario = large_scenario(random, 3, 2);
    scenario.config.timeout = seconds(60);
    scenario.config.dump_stacks = dumps;
    for (HostFate& host : scenario.hosts)
      for (TaskFate& task : host.tasks)
        task = {.end = TaskFate::End::hangs, .status = {}};
    JobWorld world("all tasks hang", random, std::move(scenario));
    world.run();
    CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
    CHECK(world.outcome().exit_status == 124);
    const auto stdout_bytes = [&](size_t task) { return world.record().output[task].stdout_bytes; };
    CHECK(stdout_bytes(0) == (dumps ? 80 : 0));
    CHECK(stdout_bytes(1) == 0);
  }
}

TEST_CASE("a task that fails twice is restarted twice, and the job ends well") {
  for (const int restarts : {1, 2}) {
    Random random(1);
    Scenario scenario = large_scenario(random, 3, 2);
    scenario.config.roles = {{.name = "worker", .restarts = restarts}};
    for (HostFate& host : scenario.hosts)
      for (TaskFate& task : host.tasks)
        task.follows = false;
    TaskFate& failing = scenario.hosts[1].tasks[1];
    failing.end = TaskFate::End::training;
    failing.status = {.signal = SIGKILL};
    failing.failures = 2;
    JobWorld world("a task fails twice", random, std::move(scenario));
    world.judge().want_story();
    world.run();
    CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
    CHECK(world.outcome().exit_status == (restarts == 2 ? 0 : 137));
    CHECK(world.record().tasks[3].earlier.size() == static_cast<size_t>(restarts));
    CHECK(world.judge().story().find("failed: killed by SIGKILL; restart 1 of ") !=
          std::string::npos);
  }
}

TEST_CASE("a server that ends well starts again until the workers have ended") {
  Random random(1);
  Scenario scenario = large_scenario(random, 3, 1);
  scenario.config.roles = {{.name = "worker", .count = 2},
                           {.name = "ps",
                            .count = 1,
                            .ranked = false,
                            .restarts = restarts_unlimited,
                            .restarts_always = true}};
  for (HostFate& host : scenario.hosts) {
    host.tasks[0].follows = false;
    host.tasks[0].train = seconds(10);
  }
  scenario.hosts[2].tasks[0].train = milliseconds(20);
  JobWorld world("a server ends well", random, std::move(scenario));
  world.judge().want_story();
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome() == Outcome());
  // At 0, 0, 1, 3 and 7 s. The wait for the sixth start is longer than the job.
  CHECK(world.record().tasks[2].earlier.size() == 4);
  CHECK(world.record().tasks[2].completed);
  CHECK(world.judge().story().find("ended with status 0; restart 4 in 4s") != std::string::npos);
}

/// A job of three hosts in which a rank fails so often.
Scenario failing_scenario(Random& random, int failures, uint32_t max_restarts) {
  Scenario scenario = large_scenario(random, 3, 2);
  scenario.config.restarts.max = max_restarts;
  TaskFate& failing = scenario.hosts[1].tasks[1];
  failing.end = TaskFate::End::training;
  failing.status = {.signal = SIGKILL};
  failing.failures = failures;
  return scenario;
}

TEST_CASE("a job with a rank that fails twice starts again twice, and ends well") {
  for (const uint32_t restarts : {1U, 2U}) {
    Random random(1);
    JobWorld world("a rank fails twice", random, failing_scenario(random, 2, restarts));
    world.judge().want_story();
    world.run();
    CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
    CHECK(world.outcome().exit_status == (restarts == 2 ? 0 : 137));
    const std::vector<GenerationRecord>& generations = world.record().generations;
    REQUIRE(generations.size() == restarts + 1);
    CHECK(generations[0].failure->rank == 3);
    CHECK(generations[1].failure.has_value());
    CHECK(world.judge().story().find(
              "restart 1 of " + std::to_string(restarts) +
              " after rank 3 on node0001: killed by SIGKILL; 6 ranks on node[0000-0002]") !=
          std::string::npos);
  }
}

TEST_CASE("a job without a limit of restarts ends when its ranks fail at once again and again") {
  Random random(1);
  JobWorld world("a rank fails for ever", random, failing_scenario(random, 9, unlimited_restarts));
  world.judge().want_story();
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome().exit_status == 137);
  CHECK(world.record().generations.size() == 3);
  CHECK(world.judge().story().find(
            "restart 2 in 1s after rank 3 on node0001: killed by SIGKILL;") != std::string::npos);
}

/// Something that happens to host 1 while the job runs.
Trouble loss_of_host_1(Trouble::Kind kind) {
  return {.kind = kind, .phase = Phase::joined, .delay = milliseconds(5), .host = 1};
}

/// A job of three hosts that trains for a minute, and one spare.
Scenario scenario_with_loss(Random& random, Trouble::Kind kind, bool spare) {
  Scenario scenario = large_scenario(random, spare ? 4 : 3, 2);
  scenario.config.restarts.max = 2;
  if (spare) {
    scenario.config.restarts.spares = {scenario.config.hosts.back()};
    scenario.config.hosts.pop_back();
  }
  for (HostFate& host : scenario.hosts)
    for (TaskFate& task : host.tasks)
      task.train = seconds(60);
  scenario.troubles = {loss_of_host_1(kind)};
  return scenario;
}

using Names = std::vector<std::string>;

TEST_CASE("a spare takes the place of a lost host") {
  for (const auto kind : {Trouble::Kind::agent_killed, Trouble::Kind::host_cut}) {
    Random random(1);
    JobWorld world("a host is lost", random, scenario_with_loss(random, kind, true));
    world.run();
    CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
    CHECK(world.outcome() == Outcome());
    const std::vector<GenerationRecord>& generations = world.record().generations;
    REQUIRE(generations.size() == 2);
    CHECK(generations[0].hosts == Names{"node0000", "node0001", "node0002"});
    CHECK(generations[1].hosts == Names{"node0000", "node0003", "node0002"});
    CHECK(generations[1].began - *generations[0].ended < milliseconds(500));
  }
}

TEST_CASE("a spare that is lost at any moment of the start is one warning") {
  size_t warned = 0;
  for (int step = 0; step < 100; ++step) {
    Random random(1);
    Scenario scenario = large_scenario(random, 3, 1);
    scenario.resources = true;  // all agents have said hello when the trouble may come
    scenario.config.restarts = {.max = 1, .spares = {scenario.config.hosts.back()}};
    scenario.config.hosts.pop_back();
    scenario.troubles = {{.kind = Trouble::Kind::agent_killed,
                          .phase = Phase::greeted,
                          .delay = step * microseconds(100),
                          .host = 2}};
    JobWorld world("a spare is lost", random, std::move(scenario));
    world.judge().want_story();
    world.run();
    CHECK_MESSAGE(world.judge().complaint().empty(), step, ": ", world.judge().complaint());
    CHECK(world.outcome() == Outcome());
    warned += world.judge().story().find("the job goes on without this spare") != std::string::npos;
  }
  CHECK(warned > 90);
}

TEST_CASE("without a spare a host whose agent was killed is used again") {
  Random random(1);
  JobWorld world("an agent is killed", random,
                 scenario_with_loss(random, Trouble::Kind::agent_killed, false));
  world.judge().want_story();
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome() == Outcome());
  REQUIRE(world.record().generations.size() == 2);
  CHECK(world.record().generations[1].hosts == world.record().generations[0].hosts);
  CHECK(world.judge().story().find("dtrain: waiting for node0001, up to 30s") != std::string::npos);
  CHECK(world.judge().story().find("dtrain: all hosts are there again") != std::string::npos);
}

TEST_CASE("without a spare a host that stays away ends the job after the start timeout") {
  Random random(1);
  JobWorld world("a host is cut off", random,
                 scenario_with_loss(random, Trouble::Kind::host_cut, false));
  world.judge().want_story();
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome().exit_status == 3);
  CHECK(world.outcome().reason == "agent on node0001 lost: no heartbeat for 5s");
  CHECK(world.record().generations.size() == 1);
  CHECK(world.judge().story().find("dtrain: the job cannot start again: node0001: ") !=
        std::string::npos);
}

/// A job of three hosts whose size follows them. It trains for a minute, and host 1 is lost.
Scenario sized_scenario(Random& random, Trouble::Kind kind, const JobSize& size) {
  Scenario scenario = scenario_with_loss(random, kind, false);
  scenario.config.roles = workers(0);
  scenario.config.restarts.size = size;
  return scenario;
}

TEST_CASE("a job whose size follows its hosts does without a host that stays away") {
  Random random(1);
  JobWorld world("a host is cut off", random,
                 sized_scenario(random, Trouble::Kind::host_cut, {.ranks_min = 3}));
  world.judge().want_story();
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome() == Outcome());
  const std::vector<GenerationRecord>& generations = world.record().generations;
  REQUIRE(generations.size() == 2);
  CHECK(generations[1].hosts == Names{"node0000", "node0002"});
  CHECK(generations[1].world_size == 4);
  CHECK(generations[1].began - *generations[0].ended > seconds(30));
  CHECK(world.judge().story().find("dtrain: going on with 4 ranks on node[0000,0002]") !=
        std::string::npos);
}

TEST_CASE("a job whose size follows its hosts uses a host again whose agent was killed") {
  Random random(1);
  JobWorld world("an agent is killed", random,
                 sized_scenario(random, Trouble::Kind::agent_killed, {.ranks_min = 3}));
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome() == Outcome());
  REQUIRE(world.record().generations.size() == 2);
  CHECK(world.record().generations[1].world_size == 6);
}

TEST_CASE("a host that is not needed takes the place of a lost one, without a wait") {
  Random random(1);
  JobWorld world("a host is idle", random,
                 sized_scenario(random, Trouble::Kind::host_cut, {.ranks_min = 3, .ranks_max = 4}));
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome() == Outcome());
  const std::vector<GenerationRecord>& generations = world.record().generations;
  REQUIRE(generations.size() == 2);
  CHECK(generations[0].hosts == Names{"node0000", "node0001"});
  CHECK(generations[1].hosts == Names{"node0000", "node0002"});
  CHECK(generations[1].began - *generations[0].ended < milliseconds(500));
}

TEST_CASE("with too few slots the job waits for --elastic-timeout, then fails") {
  Random random(1);
  Scenario scenario = sized_scenario(random, Trouble::Kind::host_cut, {.ranks_min = 5});
  scenario.config.restarts.elastic_timeout = seconds(100);
  JobWorld world("too few slots", random, std::move(scenario));
  world.judge().want_story();
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome().exit_status == 3);
  CHECK(world.judge().story().find("4 of 5 slots after 100s (--elastic-timeout)") !=
        std::string::npos);
}

TEST_CASE("a host that its source names later takes part after the next failure") {
  Random random(1);
  Scenario scenario =
      sized_scenario(random, Trouble::Kind::agent_killed, {.ranks_min = 3, .ranks_first = 4});
  scenario.later = {scenario.config.hosts.back()};
  scenario.config.hosts.pop_back();
  scenario.readings = {std::vector<Host>{scenario.config.hosts[0], scenario.later[0]}};
  JobWorld world("a host joins", random, std::move(scenario));
  world.judge().want_story();
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome() == Outcome());
  const std::vector<GenerationRecord>& generations = world.record().generations;
  REQUIRE(generations.size() == 2);
  CHECK(generations[0].hosts == Names{"node0000", "node0001"});
  CHECK(generations[1].hosts == Names{"node0000", "node0002"});
}

TEST_CASE("a thousand hosts start again within a second after a death") {
  Random random(1);
  Scenario scenario = large_scenario(random, 1000, 1);
  scenario.config.restarts.max = 1;
  TaskFate& failing = scenario.hosts[500].tasks[0];
  failing.end = TaskFate::End::training;
  failing.status = {.code = 3};
  JobWorld world("a thousand hosts start again", random, std::move(scenario));
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome() == Outcome());
  REQUIRE(world.record().generations.size() == 2);
  const Time failed = *world.record().generations[0].ended;
  for (const TaskRecord& task : world.record().tasks)
    CHECK(*task.started - failed < seconds(1));
}

TEST_CASE("a host receives the environments of its own roles only") {
  Random random(1);
  Scenario scenario = large_scenario(random, 3, 1);
  scenario.config.roles = {
      {.name = "ps", .count = 1, .environment = {{"SECRET", "of the ps"}}, .ranked = false},
      {.name = "worker", .count = 2, .environment = {{"SECRET", "of the workers"}}}};
  JobWorld world("a role has a secret", random, std::move(scenario));
  world.run();
  CHECK_MESSAGE(world.judge().complaint().empty(), world.judge().complaint());
  CHECK(world.outcome() == Outcome());
}

}  // namespace

}  // namespace dt
