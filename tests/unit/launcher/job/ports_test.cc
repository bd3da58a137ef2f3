#include "launcher/job/ports.h"

#include <doctest/doctest.h>

#include <set>

namespace dt {
namespace {

Plan plan_of(int count) {
  PlanRequest request;
  request.hosts = {{.name = "here", .slots = count, .here = true}};
  return make_plan(request).value();
}

const Reach at_home = {
    .launcher = "127.0.0.1", .hosts = {{.ips = {"127.0.0.1"}, .interface = {}}}, .warnings = {}};

TEST_CASE("task_table: every task with rank, host and where its peers reach it") {
  const TaskTable table = task_table(plan_of(2), "job", at_home);
  REQUIRE(table.tasks.size() == 2);
  CHECK(table.job == "job");
  CHECK(table.generation == 1);
  CHECK(
      table.tasks[1] ==
      TaskEntry{
          .id = {"worker", 1}, .rank = 1, .agent = 0, .host = "here", .addresses = {"127.0.0.1"}});
}

TEST_CASE("job_facts gives each held port to one user only") {
  const Plan plan = plan_of(3);
  const TaskTable table = task_table(plan, "job", at_home);
  const Token token;
  RunConfig config;
  config.command = {"true"};
  config.chdir = "sub folder";
  const std::vector<Prepare> orders =
      prepare_orders(config, plan, "job", token, {{"PATH", "/bin"}});
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
  const std::vector<Prepare> orders = prepare_orders(config, plan, "job", token, {});
  CHECK(orders[0].ports == 1);
  CHECK(orders[1].ports == 3);
  const std::vector<Prepared> prepared = {{.ports = {1001}}, {.ports = {2001, 2002, 2003}}};
  const JobFacts facts = job_facts(config, plan, table, {{"10.0.0.1", 7}, token, true}, prepared);
  CHECK(facts.master_address == "10.0.0.2");
  CHECK(facts.master_port > 2000);
  CHECK(facts.jax_port > 2000);
  CHECK(facts.cluster.jobs.at("ps").at(0) == "10.0.0.1:1001");
}

TEST_CASE("a host is asked for the commands of the roles that it has, each in its PATH") {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 2}, {.name = "b", .slots = 2}};
  request.roles = {{.name = "ps", .count = 2, .command = {"serve"}, .ranked = false},
                   {.name = "worker", .count = 1},
                   {.name = "chief", .count = 1, .environment = {{"PATH", "/opt"}}}};
  const Plan plan = make_plan(request).value();
  RunConfig config;
  config.command = {"train"};
  const auto orders = prepare_orders(config, plan, "job", Token(), {{"PATH", "/bin"}});
  REQUIRE(orders.size() == 2);
  CHECK(plan.roles_on(plan.hosts[0]) == std::vector{&plan.roles[0], &plan.roles[1]});
  CHECK(plan.roles_on(plan.hosts[1]) == std::vector{&plan.roles[2]});
  CHECK(orders[0].command == std::vector<std::string>{"train"});
  CHECK(orders[0].role_commands == std::vector<RoleCommand>{{"chief", {"train"}, "/opt"}});
  CHECK(orders[0].ports == 4);
  CHECK(orders[1].command.empty());
  CHECK(orders[1].role_commands == std::vector<RoleCommand>{{"ps", {"serve"}, "/bin"}});
  CHECK(orders[1].ports == 2);
}

TEST_CASE("preparation_failure tells each cause once, with all its hosts") {
  Plan plan;
  for (const char* name : {"a", "b", "c", "d"})
    plan.hosts.push_back({.host = {.name = name}});
  const std::vector<Prepare> orders(4);
  const std::string cause = "cannot run x: not found in PATH=/bin";
  const auto outcome =
      preparation_failure(plan, orders,
                          {{.failure = cause, .status = 127},
                           {},
                           {.failure = cause, .status = 127},
                           {.failure = "cannot enter the working directory /x", .status = 2}});
  REQUIRE(outcome);
  CHECK(outcome->exit_status == 127);
  CHECK(outcome->reason == "d: cannot enter the working directory /x\na, c: " + cause);
}

TEST_CASE("only another host than ours may run in its home, and only if no folder was asked for") {
  Plan plan = plan_of(1);
  const auto allowed = [&plan](const RunConfig& config) {
    return prepare_orders(config, plan, "job", Token(), {}).front().home_instead;
  };
  RunConfig config;
  CHECK_FALSE(allowed(config));
  plan.hosts.front().host.here = false;
  CHECK(allowed(config));
  config.chdir = "/data";
  CHECK_FALSE(allowed(config));
}

TEST_CASE("moved_home is one warning for all hosts that lack the folder") {
  Plan plan;
  for (const char* name : {"a", "b", "c"})
    plan.hosts.push_back({.host = {.name = name}});
  std::vector<Prepare> orders(3);
  orders.front().cwd = "/data/my job";
  std::vector<Prepared> prepared(3);
  CHECK(cwd_fallback_warnings(plan, orders, prepared).empty());
  prepared[0].home = prepared[2].home = "/home/u";
  CHECK(cwd_fallback_warnings(plan, orders, prepared) ==
        std::vector<std::string>{
            "'/data/my job' cannot be entered on a, c; workers start in the home "
            "directory there (see --chdir)"});
}

TEST_CASE("preparation_failure: an agent that holds fewer ports than asked cannot be used") {
  Plan plan;
  plan.hosts.push_back({.host = {.name = "a"}});
  const auto outcome = preparation_failure(plan, {{.ports = 3}}, {{.ports = {1, 2}}});
  REQUIRE(outcome);
  CHECK(outcome->exit_status == 3);
}

}  // namespace
}  // namespace dt
