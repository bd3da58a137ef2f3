#include "launcher/environment/job_facts.h"

#include "launcher/job/start/prepare.h"
#include "launcher/job/start/rendezvous.h"
#include "tests/unit/launcher/job/local_plan.h"

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace dt {
namespace {

TEST_CASE("job_facts gives each held port to one user only") {
  const Plan plan = plan_of(3);
  const TaskTable table = task_table(plan, "job", at_home);
  const Token token;
  RunConfig config;
  config.command = {"true"};
  config.chdir = "sub folder";
  const std::vector<Prepare> orders = prepare_orders(
      config, plan, {.token = token, .job = "job", .generation = 1}, {{"PATH", "/bin"}});
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].ports == 5);
  CHECK_FALSE(orders[0].probe);
  CHECK(orders[0].path == "/bin");
  CHECK(orders[0].cwd.ends_with("/sub folder"));
  CHECK(orders[0].cwd.starts_with("/"));

  const std::vector<Prepared> prepared = {{.ports = {1001, 1002, 1003, 1004, 1005}}};
  REQUIRE_FALSE(preparation_failure(plan, orders, prepared));
  const JobFacts facts = job_facts(config, plan, table, {{"127.0.0.1", 7}, token, true}, prepared);
  CHECK(facts.rendezvous == "127.0.0.1:7");
  CHECK(facts.horovod);
  CHECK(facts.master_address == "127.0.0.1");
  std::set<std::string> all = {std::to_string(facts.master_port), std::to_string(facts.jax_port)};
  for (const auto& [index, address] : facts.cluster.jobs.at("worker")) {
    all.insert(address.substr(address.find(':') + 1));
  }
  CHECK(all == std::set<std::string>{"1001", "1002", "1003", "1004", "1005"});
}

TEST_CASE("job_facts makes variables of the strategy's options, and none of those not given") {
  const Plan plan = plan_of(1);
  const TaskTable table = task_table(plan, "job", at_home);
  const auto variables = [&](const RunConfig& config) {
    return job_facts(config, plan, table, {{"127.0.0.1", 7}, Token(), false},
                     {{.ports = {1001, 1002, 1003}}})
        .strategy;
  };
  RunConfig config;
  CHECK(variables(config).empty());
  config.strategy = StrategyName::central_storage;
  CHECK(variables(config) == Environment{{"DTRAIN_STRATEGY", "central_storage"}});
  config.devices = "0,1";
  config.cross_device_op = "AllReduce:2";
  CHECK(variables(config) == Environment{{"DTRAIN_STRATEGY", "central_storage"},
                                         {"DTRAIN_DEVICES", "0,1"},
                                         {"DTRAIN_CROSS_DEVICE_OP", "AllReduce:2"}});
  config = RunConfig();
  config.communication = Communication::automatic;
  config.device_memory = 1 << 30;
  config.soft_placement = config.log_placement = true;
  config.bytes_per_pack = 4 << 20;
  config.strategy_timeout = milliseconds(1500);
  config.ps_mode = ServerMode{ServerMode::Kind::bounded, 0};
  config.ps_replicas = 2;
  CHECK(variables(config) == Environment{{"DTRAIN_COMMUNICATION", "auto"},
                                         {"DTRAIN_DEVICE_MEMORY", "1073741824"},
                                         {"DTRAIN_SOFT_PLACEMENT", "1"},
                                         {"DTRAIN_LOG_PLACEMENT", "1"},
                                         {"DTRAIN_BYTES_PER_PACK", "4194304"},
                                         {"DTRAIN_STRATEGY_TIMEOUT", "1500ms"},
                                         {"DTRAIN_PS_MODE", "bounded:0"},
                                         {"DTRAIN_PS_REPLICAS", "2"}});
}

TEST_CASE("MASTER_PORT and JAX's are held on rank 0's host, be it first or not") {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 1}, {.name = "b", .slots = 1}};
  request.roles = {
      {.name = "ps", .count = 1, .hosts = {{.name = "a", .slots = 1}}, .ranked = false},
      {.name = "worker", .count = 1, .hosts = {{.name = "b", .slots = 1}}}};
  const Plan plan = make_plan(request).value();
  REQUIRE(plan.hosts[0].host.name == "a");
  const Reach reach = {
      .launcher = "10.0.0.1",
      .hosts = {{.ips = {"10.0.0.1"}, .interface = {}}, {.ips = {"10.0.0.2"}, .interface = {}}},
      .warnings = {}};
  const TaskTable table = task_table(plan, "job", reach);
  const Token token;
  RunConfig config;
  config.command = {"true"};
  const std::vector<Prepare> orders =
      prepare_orders(config, plan, {.token = token, .job = "job", .generation = 1}, {});
  CHECK(orders[0].ports == 1);
  CHECK(orders[1].ports == 3);
  const std::vector<Prepared> prepared = {{.ports = {1001}}, {.ports = {2001, 2002, 2003}}};
  const JobFacts facts = job_facts(config, plan, table, {{"10.0.0.1", 7}, token, true}, prepared);
  CHECK(facts.master_address == "10.0.0.2");
  CHECK(facts.master_port > 2000);
  CHECK(facts.jax_port > 2000);
  CHECK(facts.cluster.jobs.at("ps").at(0) == "10.0.0.1:1001");
}

TEST_CASE("a role's port is that of its task, and its host holds it") {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 2}};
  request.roles = {{.name = "ps", .count = 1, .ranked = false, .ports = {2222}},
                   {.name = "worker", .count = 1}};
  const Plan plan = make_plan(request).value();
  RunConfig config;
  config.command = {"true"};
  const Token token;
  const std::vector<Prepare> orders =
      prepare_orders(config, plan, {.token = token, .job = "job", .generation = 1}, {});
  CHECK(orders[0].ports == 3);
  CHECK(orders[0].addresses == std::vector<std::string>{"a:2222"});
  const JobFacts facts =
      job_facts(config, plan, task_table(plan, "job", at_home), {{"127.0.0.1", 7}, token, true},
                {{.ports = {1001, 1002, 1003}}});
  CHECK(facts.cluster.jobs.at("ps").at(0) == "127.0.0.1:2222");
  CHECK(facts.cluster.jobs.at("worker").at(0) == "127.0.0.1:1001");
}

TEST_CASE("job_facts knows how many GPUs each rank alone sees, and whether ranks share them") {
  const auto facts_of = [](std::vector<Role> roles, GpuBind bind = GpuBind::none) {
    const Plan plan =
        make_plan({.hosts = {{.name = "a", .slots = 4}}, .roles = std::move(roles)}).value();
    RunConfig config;
    config.placement.gpu_bind = bind;
    return job_facts(config, plan, task_table(plan, "job", at_home),
                     {{"127.0.0.1", 7}, Token(), false}, {{.ports = {1, 2, 3, 4, 5, 6}}});
  };
  const auto role = [](const char* name, std::optional<GpuCount> gpus) {
    return Role{.name = name, .count = 1, .ranked = is_ranked(name), .resources = {.gpus = gpus}};
  };
  CHECK(facts_of({role("worker", {})}).own_gpus == 0);
  CHECK(facts_of({role("worker", {})}, GpuBind::rank).own_gpus == 1);
  const JobFacts two = facts_of({role("worker", GpuCount{2, 1}), role("ps", GpuCount{0, 1})});
  CHECK(two.own_gpus == 2);
  CHECK(own_gpu_numbers(two) == "0,1");
  CHECK_FALSE(two.gpu_share);
  CHECK(facts_of({role("chief", GpuCount{1, 1}), role("worker", GpuCount{2, 1})}).own_gpus == 0);
  const JobFacts shared = facts_of({role("worker", GpuCount{0, 2})});
  CHECK(shared.own_gpus == 1);
  CHECK(shared.gpu_share);
}

}  // namespace
}  // namespace dt
