#include "launcher/job/start/prepare.h"

#include "tests/unit/launcher/job/local_plan.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("a host gets the commands of its roles, each with its PATH") {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 2}, {.name = "b", .slots = 2}};
  request.roles = {{.name = "ps", .count = 2, .command = {"serve"}, .ranked = false},
                   {.name = "worker", .count = 1},
                   {.name = "chief", .count = 1, .environment = {{"PATH", "/opt"}}}};
  const Plan plan = make_plan(request).value();
  RunConfig config;
  config.command = {"train"};
  const auto orders =
      prepare_orders(config, plan, {.job = "job", .generation = 1}, {{"PATH", "/bin"}});
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

TEST_CASE("preparation_failure names each cause once, with all its hosts") {
  Plan plan;
  for (const char* name : {"a", "b", "c", "d"})
    plan.hosts.push_back({.host = {.name = name}, .tasks = {0}});
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

TEST_CASE("preparation_failure: an agent that holds fewer ports than asked cannot be used") {
  Plan plan;
  plan.hosts.push_back({.host = {.name = "a"}, .tasks = {0}});
  const auto outcome = preparation_failure(plan, {{.ports = 3}}, {{.ports = {1, 2}}});
  REQUIRE(outcome);
  CHECK(outcome->exit_status == 3);
}

TEST_CASE(
    "a spare checks the commands of all roles, holds no port, and its failure is none of the job") {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 2}};
  request.spares = {{.name = "s", .slots = 2}};
  const Plan plan = make_plan(request).value();
  RunConfig config;
  config.command = {"train"};
  const auto orders = prepare_orders(config, plan, {.job = "job", .generation = 1}, {}, true);
  REQUIRE(orders.size() == 2);
  CHECK(orders[1].command == config.command);
  CHECK(orders[1].ports == 0);
  CHECK(orders[1].tasks == 0);
  CHECK(orders[1].probe);
  Prepared ready;
  ready.ports.resize(static_cast<size_t>(orders[0].ports));
  CHECK_FALSE(preparation_failure(plan, orders, {ready, {.failure = "not found", .status = 127}}));
}

TEST_CASE("only another host may use its home folder, and only without --chdir") {
  Plan plan = plan_of(1);
  const auto allowed = [&plan](const RunConfig& config) {
    return prepare_orders(config, plan, {.job = "job", .generation = 1}, {}).front().home_instead;
  };
  RunConfig config;
  CHECK_FALSE(allowed(config));
  plan.hosts.front().host.here = false;
  CHECK(allowed(config));
  config.chdir = "/data";
  CHECK_FALSE(allowed(config));
}

TEST_CASE("the agent of this machine has a lease of its own") {
  Plan plan = plan_of(1);
  const RunConfig config = {.dead_after = seconds(2), .local_dead_after = seconds(30)};
  const auto lease = [&] {
    return prepare_orders(config, plan, {.job = "job", .generation = 1}, {}).front().dead_after;
  };
  CHECK(lease() == seconds(30));
  plan.hosts.front().host.here = false;
  CHECK(lease() == seconds(2));
}

TEST_CASE("sync_advice is for a command that this machine has, and another host lacks") {
  const TemporaryFolder folder;
  folder.write("bin/train", "", 0700);
  const auto advice = [&](const std::string& command, const std::string& failure, bool here) {
    Plan plan;
    plan.hosts.push_back({.host = {.name = "a", .here = here}, .tasks = {0}});
    return sync_advice(plan, {{.command = {command}, .cwd = folder.path()}},
                       {{.failure = failure, .status = 127}});
  };
  const std::string missing = "cannot run bin/train: No such file or directory";
  CHECK(advice("bin/train", missing, false) ==
        "\nbin/train is on this machine; --sync copies it to the hosts, with its folder");
  CHECK(advice(folder.path() + "/bin/train", missing, false) ==
        "\n" + folder.path() +
            "/bin/train is on this machine; --sync copies it to the hosts, with its folder");
  CHECK(advice("bin/train", missing, true).empty());
  CHECK(advice("bin/train", "", false).empty());
  CHECK(advice("bin/train", "cannot run bin/train: its interpreter perl does not exist", false)
            .empty());
  CHECK(advice("bin/test", missing, false).empty());
  CHECK(advice("train", "cannot run train: not found in PATH", false).empty());
  CHECK(advice("/bin/sh", missing, false).empty());
}

TEST_CASE("cwd_fallback_warnings is one warning for all hosts that lack the folder") {
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
            "directory there (--sync copies its files; see also --chdir)"});
}

TEST_CASE("a port of --role-ports that cannot be held is an error of the options") {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 2}};
  request.roles = {{.name = "worker", .count = 1, .ports = {2222}}};
  const Plan plan = make_plan(request).value();
  RunConfig config;
  config.command = {"train"};
  const auto orders = prepare_orders(config, plan, {.job = "job", .generation = 1}, {});
  const auto status_of = [&](const std::string& failure) {
    return preparation_failure(plan, orders, {{.failure = failure, .status = 4}})->exit_status;
  };
  CHECK(status_of("a:2222: port 2222 is busy") == 2);
  CHECK(status_of("no free port") == 4);
}

}  // namespace
}  // namespace dt
