#include "launcher/plan/resolve_hosts.h"

#include "base/text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

Result<ResolvedHosts> resolved(const RunConfig& config) {
  return resolve_hosts(config, {"10.0.0.7", "node7.example", "node7"});
}

HostList hosts_and_warnings(const RunConfig& config) {
  ResolvedHosts all = resolved(config).value();
  return {std::move(all.hosts), std::move(all.warnings)};
}

TEST_CASE("resolve_hosts: no hosts means this machine with as many slots as processes") {
  RunConfig config;
  config.roles = workers(3);
  CHECK(hosts_and_warnings(config) ==
        HostList{{{.name = "localhost", .slots = 3, .here = true}}, {}});
  config.roles = {Role()};
  const auto hosts = resolved(config);
  REQUIRE_FALSE(hosts.has_value());
  CHECK(hosts.error().code == Errc::input);
  CHECK(hosts.error().message == "how many processes? give -np N, or hosts with -H HOST:SLOTS,…");
}

TEST_CASE("F22: all names of this machine are one host, whose slots add up") {
  RunConfig config;
  config.hosts = {{.name = "localhost", .slots = 2}, {.name = "127.0.0.1", .slots = 3}};
  CHECK(hosts_and_warnings(config) ==
        HostList{{{.name = "localhost", .slots = 5, .here = true}},
                 {"localhost, 127.0.0.1 are one machine; merged to 5 slots"}});
  config.hosts = {{.name = "localhost", .slots = 2}, {.name = "::1"}};
  CHECK(hosts_and_warnings(config) ==
        HostList{{{.name = "localhost", .slots = 3, .here = true}},
                 {"localhost, ::1 are one machine; merged to 3 slots"}});
}

TEST_CASE("resolve_hosts: this machine is known by the names and addresses that are given") {
  RunConfig config;
  config.hosts = {{.name = "b", .slots = 1},
                  {.name = "node7", .slots = 1},
                  {.name = "10.0.0.7", .slots = 2},
                  {.name = "node70", .slots = 1}};
  CHECK(hosts_and_warnings(config) ==
        HostList{{config.hosts[0], {.name = "node7", .slots = 3, .here = true}, config.hosts[3]},
                 {"node7, 10.0.0.7 are one machine; merged to 3 slots"}});
  CHECK(resolve_hosts(config, {}).value().hosts == config.hosts);
}

TEST_CASE("resolve_hosts: the plan is made at once where all slots are known") {
  RunConfig config;
  config.roles = workers(3);
  config.hosts = {{.name = "a", .slots = 2}, {.name = "b", .slots = 2}};
  const ResolvedHosts known = resolved(config).value();
  REQUIRE(known.plan.has_value());
  CHECK(known.plan == make_plan(plan_request(config, config.hosts, 0, config.roles)).value());
  config.hosts[1].slots = 0;
  CHECK_FALSE(resolved(config).value().plan.has_value());
}

TEST_CASE("resolve_hosts: spares are the last hosts, without tasks") {
  RunConfig config;
  config.roles = workers(3);
  config.hosts = {{.name = "a", .slots = 2}, {.name = "b", .slots = 2}, {.name = "c", .slots = 1}};
  config.restarts.spares = {{.name = "s", .slots = 1}, {.name = "node7", .slots = 2}};
  const ResolvedHosts known = resolved(config).value();
  CHECK(known.spares == 2);
  REQUIRE(known.plan.has_value());
  CHECK(known.plan->host_count() == 2);
  config.restarts.max = 1;
  const ResolvedHosts restarts = resolved(config).value();
  CHECK(restarts.spares == 3);
  CHECK(restarts.hosts[2] == config.hosts[2]);  // it needs no tasks
  CHECK(known.hosts == std::vector<Host>{config.hosts[0],
                                         config.hosts[1],
                                         config.restarts.spares[0],
                                         {.name = "node7", .slots = 2, .here = true}});
  // The slots of a spare may be known only later.
  config.restarts.spares[0].slots = 0;
  CHECK_FALSE(resolved(config).value().plan.has_value());
  config.restarts.spares[0].name = "B";
  CHECK(resolved(config).error().message == "--spare B: the job uses b already; name other hosts");
  config.restarts.spares[0] = {.name = "a", .user = "root"};
  CHECK(resolved(config).error().message ==
        "--spare root@a: the job uses a already; name other hosts");
  // --ppn makes no slots of a spare.
  config.placement.per_host = 1;
  config.restarts.spares = {{.name = "s"}, {.name = "t", .slots = 8}};
  const std::vector<Host> few = resolved(config).value().hosts;
  CHECK(few[few.size() - 2].slots == 1);
  CHECK(few.back().slots == 1);
}

TEST_CASE("resolve_hosts: names of this machine without slots are one slot a mention") {
  const auto answer = [](const char* hostfile) {
    RunConfig config;
    config.hosts = parse_hostfile(hostfile, "hosts").value().hosts;
    const auto list = resolved(config);
    if (!list) return list.error().message;
    std::string text;
    for (const Host& host : list->hosts)
      text += host.text() + " ";
    return text + join(list->warnings, "|");
  };
  CHECK(answer("localhost\nlocalhost\n127.0.0.1\n") ==
        "localhost:3 localhost, 127.0.0.1 are one machine; merged to 3 slots");
  CHECK(answer("127.0.0.1\nlocalhost\nlocalhost\n[::1]\n") ==
        "127.0.0.1:4 127.0.0.1, localhost, ::1 are one machine; merged to 4 slots");
  CHECK(answer("localhost\n[::1]\n") ==
        "localhost:2 localhost, ::1 are one machine; merged to 2 slots");
  CHECK(answer("localhost\nlocalhost\n") == "localhost:2 ");
  CHECK(answer("localhost\n") == "localhost ");
  CHECK(answer("localhost\nlocalhost\n127.0.0.1 slots=2\n") ==
        "localhost:4 localhost, 127.0.0.1 are one machine; merged to 4 slots");
  CHECK(answer("localhost slots=2\n127.0.0.1\n[::1]\n") ==
        "localhost:4 localhost, 127.0.0.1, ::1 are one machine; merged to 4 slots");
}

TEST_CASE("resolve_hosts: roles that name this machine without slots share all its slots") {
  RunConfig config;
  config.hosts = {{.name = "localhost", .shared = true}, {.name = "::1", .shared = true}};
  CHECK(hosts_and_warnings(config) ==
        HostList{{{.name = "localhost", .here = true, .shared = true}},
                 {"localhost, ::1 are one machine; counted once"}});
}

TEST_CASE("resolve_hosts: other machines stay as they were given, in their order") {
  RunConfig config;
  config.hosts = {{.name = "a.invalid", .user = "u"},
                  {.name = "localhost", .slots = 2},
                  {.name = "127.0.0.2", .slots = 1}};
  std::vector<Host> wanted = config.hosts;
  wanted[1].here = true;
  CHECK(hosts_and_warnings(config) == HostList{wanted, {}});
}

TEST_CASE("resolve_hosts: a host that gets no task is left out where all slots are known") {
  RunConfig config;
  config.roles = workers(3);
  config.hosts = {{.name = "a.invalid", .slots = 2},
                  {.name = "b.invalid", .slots = 2},
                  {.name = "c.invalid", .slots = 2}};
  CHECK(hosts_and_warnings(config) == HostList{{config.hosts[0], config.hosts[1]}, {}});
  config.hosts[2].slots = 0;
  CHECK(resolved(config).value().hosts.size() == 3);
}

TEST_CASE("resolve_hosts: too many processes are an input error, wherever the hosts are") {
  RunConfig config;
  config.roles = workers(16);
  config.hosts = {{.name = "a.invalid", .slots = 4}, {.name = "b.invalid", .slots = 4}};
  const auto checked = resolved(config);
  REQUIRE_FALSE(checked.has_value());
  CHECK(checked.error().code == Errc::input);
  config.hosts[1].slots = 12;
  CHECK(resolved(config).has_value());
  config.hosts[1].slots = 0;
  config.roles = workers(100);
  CHECK(resolved(config).has_value());
}

TEST_CASE("resolve_hosts: a role's host must be one of the job's, by any name of this machine") {
  RunConfig config;
  config.hosts = {{.name = "localhost", .slots = 2}, {.name = "b.invalid", .slots = 2}};
  config.roles = {{.name = "worker", .count = 3},
                  {.name = "ps", .count = 1, .hosts = {{.name = "127.0.0.1"}}, .ranked = false}};
  const auto hosts = resolved(config);
  REQUIRE(hosts.has_value());
  const Plan plan = hosts->plan.value();
  CHECK(plan.tasks.back().id.text() == "ps:0");
  CHECK(plan.tasks.back().agent == 0);
  config.roles[1].hosts.push_back({.name = "c.invalid"});
  CHECK(resolved(config).error().message ==
        "role ps: host c.invalid is none of the job's hosts (localhost, b.invalid)");
}

TEST_CASE("a role that names one host several times has the slots of all these mentions") {
  RunConfig config;
  config.hosts = {{.name = "localhost", .slots = 9}, {.name = "b", .user = "me", .slots = 2}};
  config.roles = workers(1);
  config.roles[0].hosts = {{.name = "127.0.0.1", .slots = 1, .max_slots = 2},
                           {.name = "::1", .slots = 2, .max_slots = 3}};
  const auto hosts_of_role = [&config] {
    const auto hosts = resolved(config);
    if (!hosts) return std::vector<Host>{{.name = hosts.error().message}};
    return hosts->roles[0].hosts;
  };
  CHECK(hosts_of_role() ==
        std::vector<Host>{{.name = "localhost", .slots = 3, .here = true, .max_slots = 5}});
  config.roles[0].hosts[1].max_slots = 0;
  CHECK(hosts_of_role().front().name ==
        "role worker: host \"localhost\" is given twice, but not always with max_slots; write it "
        "once");
  config.roles[0].hosts = {{.name = "b", .user = "you"}};
  CHECK(hosts_of_role().front().name ==
        "role worker: host you@b is none of the job's hosts (localhost, me@b)");
}

TEST_CASE("resolve_hosts: --ppn takes the place of slots, given or not") {
  RunConfig config;
  config.placement.per_host = 2;
  CHECK(resolved(config).value().hosts ==
        std::vector<Host>{{.name = "localhost", .slots = 2, .here = true}});
  config.hosts = {{.name = "a.invalid", .slots = 4}, {.name = "b.invalid"}};
  const auto slots_of = [&config] {
    const auto list = resolved(config);
    if (!list) return list.error().message;
    std::string text;
    for (const Host& host : list->hosts)
      text += (text.empty() ? "" : " ") + host.text();
    return text;
  };
  CHECK(slots_of() == "a.invalid:2 b.invalid:2");
  config.roles = workers(2);
  CHECK(slots_of() == "a.invalid:2");
  config.placement.map_by = MapBy::node;
  CHECK(slots_of() == "a.invalid:2 b.invalid:2");
  config.roles = workers(5);
  CHECK(slots_of() ==
        "asked for 5 processes, but --ppn 2 on 2 hosts makes 4; use -np 4 or a larger --ppn");
  // More hosts may come.
  config.restarts.size = JobSize{.ranks_first = 5};
  config.host_source.hostfile = "hosts";
  CHECK(slots_of() == "a.invalid:2 b.invalid:2");
  config.restarts.size.reset();
  config.roles = {Role()};
  config.placement.per_host = 6;
  CHECK(slots_of() == "--ppn 6: host a.invalid has 4 slots; use --ppn 4 or --oversubscribe");
  config.oversubscribe = true;
  CHECK(slots_of() == "a.invalid:6 b.invalid:6");
  config.hosts[0].max_slots = 5;
  CHECK(slots_of() == "--ppn 6: host a.invalid has max_slots=5; use --ppn 5");
}

TEST_CASE(
    "resolve_hosts: of a given cluster this machine is the one host, and its roles need commands") {
  RunConfig config;
  config.external_cluster = parse_cluster_option("worker|localhost:5;h2:5,ps|h3:5", "x").value();
  config.roles = roles_of(*config.external_cluster);
  config.command = {"train"};
  const ResolvedHosts hosts = resolved(config).value();
  CHECK(hosts.hosts == std::vector<Host>{{.name = "localhost", .slots = 1, .here = true}});
  CHECK(hosts.warnings.empty());
  REQUIRE(hosts.plan.has_value());
  CHECK(hosts.plan->tasks.size() == 1);
  CHECK(hosts.plan->is_partial());
  config.command.clear();
  config.roles.front().command = {"serve"};
  CHECK(config.roles.front().name == "ps");
  CHECK(resolved(config).error().message ==
        "no command given for role worker, which has tasks here; write it at the end, or as "
        "--role-command worker=COMMAND");
}

}  // namespace
}  // namespace dt
