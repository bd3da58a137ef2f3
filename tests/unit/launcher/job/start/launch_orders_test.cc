#include "launcher/job/start/launch_orders.h"

#include "launcher/protocol/message.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// Two hosts: a worker on the first, a worker and a ps on the second.
Plan sample_plan() {
  Plan plan;
  plan.hosts = {{.host = {.name = "a", .user = {}, .slots = 1}},
                {.host = {.name = "b", .user = {}, .slots = 2}}};
  plan.roles = {{.name = "worker", .count = 2}, {.name = "ps", .count = 1, .ranked = false}};
  plan.world_size = 2;
  plan.add({.id = {"worker", 0}, .rank = 0, .local_rank = 0, .agent = 0});
  plan.add({.id = {"worker", 1}, .rank = 1, .local_rank = 0, .agent = 1});
  plan.add({.id = {"ps", 0}, .agent = 1});
  return plan;
}

struct Fixture {
  RunConfig config = {};
  Plan plan = sample_plan();
  Environment forwarded = {{"PATH", "/bin"}};
  JobFacts job = {.job = "kxnd",
                  .master_address = "10.0.0.1",
                  .cluster = {{{"ps", {{0, "b:3"}}}, {"worker", {{0, "a:1"}, {1, "b:2"}}}}},
                  .shape = job_shape_of(plan)};
  Bindings bindings = {.tasks = std::vector<Binding>(3), .notes = {}, .lines = {}};
  Reach reach = {.launcher = "10.0.0.9",
                 .hosts = {{.ips = {"10.0.0.1"}, .interface = "eth0"},
                           {.ips = {"10.0.0.2"}, .interface = "ens5", .relay = true}},
                 .warnings = {}};

  std::vector<HostTree> trees = {};

  Result<std::vector<Bytes>> orders() const {
    return launch_orders(config, plan, {forwarded, job, bindings, reach, trees});
  }
  std::vector<Launch> launches() const {
    std::vector<Launch> launches;
    const auto encoded = orders().value();
    for (const Bytes& order : encoded)
      launches.push_back(decode<Launch>(order).value());
    return launches;
  }
};

TEST_CASE("each order has the tasks of its agent, the interface, the relay and the roles") {
  Fixture f;
  f.plan.roles[1].environment = {{"SECRET", "of ps"}};
  const std::vector<Launch> launches = f.launches();
  REQUIRE(launches.size() == 2);
  REQUIRE(launches[0].tasks.size() == 1);
  REQUIRE(launches[1].tasks.size() == 2);
  CHECK(launches[0].tasks[0].id == TaskId{"worker", 0});
  CHECK(launches[1].tasks[0].id == TaskId{"worker", 1});
  CHECK(launches[1].tasks[0].rank == 1);
  CHECK(launches[1].tasks[1].id == TaskId{"ps", 0});
  CHECK(launches[0].interface == "eth0");
  CHECK_FALSE(launches[0].relay);
  CHECK(launches[1].interface == "ens5");
  CHECK(launches[1].relay);
  CHECK(launches[0].role_environments.empty());
  CHECK(launches[1].role_environments ==
        std::map<std::string, Environment>{{"ps", {{"SECRET", "of ps"}}}});
  CHECK(launches[0].forwarded == f.forwarded);
}

TEST_CASE("a task's order has the CPUs and variables of its binding; dtrain's own variables win") {
  Fixture f;
  f.bindings.tasks[1] = {.cpus = {2, 3},
                         .environment = {{"CUDA_VISIBLE_DEVICES", "1"}, {"RANK", "wrong"}}};
  const std::vector<Launch> launches = f.launches();
  const TaskLaunch& bound = launches[1].tasks[0];
  CHECK(bound.cpus == std::vector<int>{2, 3});
  CHECK(bound.environment.at("CUDA_VISIBLE_DEVICES") == "1");
  CHECK(bound.environment.at("RANK") == "1");
  CHECK_FALSE(launches[0].tasks[0].environment.contains("CUDA_VISIBLE_DEVICES"));
}

TEST_CASE("the tasks that --stdin names get the input") {
  Fixture f;
  const auto readers = [&f] {
    std::vector<bool> wanted;
    const std::vector<Launch> launches = f.launches();
    for (const Launch& launch : launches) {
      for (const TaskLaunch& task : launch.tasks)
        wanted.push_back(task.wants_input);
    }
    return wanted;
  };
  CHECK(readers() == std::vector<bool>{false, false, false});
  f.config.stdin_target = {.kind = StdinTarget::Kind::all};
  CHECK(readers() == std::vector<bool>{true, true, true});
  f.config.stdin_target = {.kind = StdinTarget::Kind::rank, .rank = 1};
  CHECK(readers() == std::vector<bool>{false, true, false});
}

TEST_CASE("one order that is too large is an error with its host, and no order remains") {
  Fixture f;
  f.plan.roles[1].environment = {{"LARGE", std::string(MessageAssembler::message_bytes_max, 'x')}};
  const auto orders = f.orders();
  REQUIRE_FALSE(orders);
  CHECK(orders.error().code == Errc::input);
  CHECK(orders.error().message.starts_with("b: 6"));
  CHECK(orders.error().message.find("bytes of environments for 2 tasks are too many") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "launch_orders() names the folder of --sync on each host") {
  trees = {{.folder = "/home/a/tree"}, {.folder = "/home/b/tree"}};
  config.sync = SyncOptions();
  config.command = {"echo", "{code_dir}"};
  const std::vector<Launch> all = launches();
  CHECK(all[0].tasks[0].environment.at("DTRAIN_CODE_DIR") == "/home/a/tree");
  CHECK(all[1].tasks[1].environment.at("DTRAIN_CODE_DIR") == "/home/b/tree");
  REQUIRE(all[1].macros);
  CHECK(all[1].macros->code_dir == "/home/b/tree");
  trees.clear();
  CHECK_FALSE(launches()[0].tasks[0].environment.contains("DTRAIN_CODE_DIR"));
}

}  // namespace
}  // namespace dt
