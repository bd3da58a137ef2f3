#include "launcher/plan/job_plan.h"

#include "base/text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("job_hosts: no hosts means this machine with as many slots as processes") {
  RunConfig config;
  config.roles = workers(3);
  CHECK(job_hosts(config).value() ==
        HostList{{{.name = "localhost", .slots = 3, .here = true}}, {}});
  config.roles = {Role()};
  const auto hosts = job_hosts(config);
  REQUIRE_FALSE(hosts.has_value());
  CHECK(hosts.error().code == Errc::input);
  CHECK(hosts.error().message == "how many processes? give -np N, or hosts with -H HOST:SLOTS,…");
}

TEST_CASE("F22: all names of this machine are one host, whose slots add up") {
  RunConfig config;
  config.hosts = {{.name = "localhost", .slots = 2}, {.name = "127.0.0.1", .slots = 3}};
  CHECK(job_hosts(config).value() ==
        HostList{{{.name = "localhost", .slots = 5, .here = true}},
                 {"localhost, 127.0.0.1 are one machine; merged to 5 slots"}});
  config.hosts = {{.name = "localhost", .slots = 2}, {.name = "::1"}};
  const auto mixed = job_hosts(config);
  REQUIRE_FALSE(mixed.has_value());
  CHECK(mixed.error().code == Errc::input);
}

TEST_CASE("job_hosts: names of this machine without slots are one slot a mention") {
  const auto answer = [](const char* hostfile) {
    RunConfig config;
    config.hosts = parse_hostfile(hostfile, "hosts").value().hosts;
    const Result<HostList> list = job_hosts(config);
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
  const std::string mixed =
      "host \"localhost\" is given twice, but not always with slots; write localhost:N once";
  CHECK(answer("localhost\nlocalhost\n127.0.0.1 slots=2\n") == mixed);
  CHECK(answer("localhost slots=2\n127.0.0.1\n[::1]\n") == mixed);
}

TEST_CASE("job_hosts: roles that name this machine without slots share all its slots") {
  RunConfig config;
  config.hosts = {{.name = "localhost", .shared = true}, {.name = "::1", .shared = true}};
  CHECK(job_hosts(config).value() == HostList{{{.name = "localhost", .here = true, .shared = true}},
                                              {"localhost, ::1 are one machine; counted once"}});
}

TEST_CASE("job_hosts: other machines stay as they were given, in their order") {
  RunConfig config;
  config.hosts = {{.name = "a.invalid", .user = "u"},
                  {.name = "localhost", .slots = 2},
                  {.name = "127.0.0.2", .slots = 1}};
  std::vector<Host> wanted = config.hosts;
  wanted[1].here = true;
  CHECK(job_hosts(config).value() == HostList{wanted, {}});
}

TEST_CASE("job_hosts: a host that gets no task is left out where all slots are known") {
  RunConfig config;
  config.roles = workers(3);
  config.hosts = {{.name = "a.invalid", .slots = 2},
                  {.name = "b.invalid", .slots = 2},
                  {.name = "c.invalid", .slots = 2}};
  CHECK(job_hosts(config).value() == HostList{{config.hosts[0], config.hosts[1]}, {}});
  config.hosts[2].slots = 0;
  CHECK(job_hosts(config).value().hosts.size() == 3);
}

TEST_CASE("job_hosts: too many processes are an input error, wherever the hosts are") {
  RunConfig config;
  config.roles = workers(16);
  config.hosts = {{.name = "a.invalid", .slots = 4}, {.name = "b.invalid", .slots = 4}};
  const auto checked = job_hosts(config);
  REQUIRE_FALSE(checked.has_value());
  CHECK(checked.error().code == Errc::input);
  config.hosts[1].slots = 12;
  CHECK(job_hosts(config).has_value());
  config.hosts[1].slots = 0;
  config.roles = workers(100);
  CHECK(job_hosts(config).has_value());
}

TEST_CASE("job_hosts: a role's host must be one of the job's, by any name of this machine") {
  RunConfig config;
  config.hosts = {{.name = "localhost", .slots = 2}, {.name = "b.invalid", .slots = 2}};
  config.roles = {{.name = "worker", .count = 3},
                  {.name = "ps", .count = 1, .hosts = {{.name = "127.0.0.1"}}, .ranked = false}};
  const auto hosts = job_hosts(config);
  REQUIRE(hosts.has_value());
  const Plan plan = make_plan(plan_request(config, hosts->hosts, {})).value();
  CHECK(plan.tasks.back().id.text() == "ps:0");
  CHECK(plan.tasks.back().agent == 0);
  config.roles[1].hosts.push_back({.name = "c.invalid"});
  CHECK(job_hosts(config).error().message ==
        "role ps: host c.invalid is none of the job's hosts (localhost, b.invalid)");
}

TEST_CASE("check_targets: the reader of dtrain's input must be an existing rank") {
  const auto answer = [](const char* cluster, int rank) {
    RunConfig config;
    config.external_cluster = parse_cluster_option(cluster, "x").value();
    config.roles = roles_of(*config.external_cluster);
    config.command = {"train"};
    config.stdin_target = {.kind = StdinTarget::Kind::rank, .rank = rank};
    const Result<> checked = check_targets(config, job_plan(config, {}, {}).value());
    return checked ? "good" : checked.error().message;
  };
  CHECK(answer("worker|localhost:5,ps|localhost:6", 0) == "good");
  CHECK(answer("worker|localhost:5;localhost:6", 2) == "--stdin 2: there are only 2 ranks, 0 to 1");
  CHECK(answer("ps|localhost:5", 0) == "--stdin 0: no task of this job has a rank");
}

TEST_CASE("a role that names one host several times has the slots of all these mentions") {
  RunConfig config;
  config.hosts = {{.name = "localhost", .slots = 9}, {.name = "b", .user = "me", .slots = 2}};
  config.roles = workers(1);
  config.roles[0].hosts = {{.name = "127.0.0.1", .slots = 1, .max_slots = 2},
                           {.name = "::1", .slots = 2, .max_slots = 3}};
  const auto hosts_of_role = [&config] {
    const auto hosts = job_hosts(config);
    if (!hosts) return std::vector<Host>{{.name = hosts.error().message}};
    return plan_request(config, hosts->hosts, {}).roles[0].hosts;
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

TEST_CASE("job_hosts: --ppn takes the place of slots, given or not") {
  RunConfig config;
  config.placement.per_host = 2;
  CHECK(job_hosts(config).value().hosts ==
        std::vector<Host>{{.name = "localhost", .slots = 2, .here = true}});
  config.hosts = {{.name = "a.invalid", .slots = 4}, {.name = "b.invalid"}};
  const auto slots_of = [&config] {
    const auto list = job_hosts(config);
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
  config.roles = {Role()};
  config.placement.per_host = 6;
  CHECK(slots_of() == "--ppn 6: host a.invalid has 4 slots; use --ppn 4 or --oversubscribe");
  config.oversubscribe = true;
  CHECK(slots_of() == "a.invalid:6 b.invalid:6");
  config.hosts[0].max_slots = 5;
  CHECK(slots_of() == "--ppn 6: host a.invalid has max_slots=5; use --ppn 5");
}

TEST_CASE("plan_request: a host without slots offers its GPUs, else the CPUs it may use") {
  const RunConfig config;
  const std::vector<Host> hosts = {{.name = "a"}, {.name = "b"}, {.name = "c", .slots = 9}};
  const Topology six_cpus = synthetic_topology("core:3 pu:2").value();
  const GpuList two_gpus = {.gpus = {{.index = 0, .uuid = "GPU-0"}, {.index = 1, .uuid = "GPU-1"}}};
  std::vector<HostResources> resources = {
      {.topology = six_cpus}, {.topology = six_cpus, .gpus = two_gpus}, {.topology = six_cpus}};
  const PlanRequest request = plan_request(config, hosts, resources);
  CHECK(request.hosts[0].slots == 6);
  CHECK(request.hosts[1].slots == 2);
  CHECK(request.hosts[2].slots == 9);
  const PlanRequest limited = plan_request(config, {{.name = "a", .max_slots = 4}}, resources);
  CHECK(limited.hosts[0].slots == 4);
  resources[1].visible.cuda = "1";
  CHECK(plan_request(config, hosts, resources).hosts[1].slots == 1);
  resources[1].visible.cuda = "";
  CHECK(plan_request(config, hosts, resources).hosts[1].slots == 6);
}

TEST_CASE("resource_need: only the resources that a plan or a binding needs are requested") {
  struct Case {
    std::vector<Host> hosts;
    PlacementOptions placement;
    ResourceNeed need;
    ResourceNeed need_of_dry_run;
  };
  using enum ResourceNeed;
  const std::vector<Host> known = {{.name = "a", .slots = 1}};
  const std::vector<Host> unknown = {{.name = "a", .slots = 1}, {.name = "b"}};
  const Case cases[] = {
      {known, {}, nothing, nothing},
      {unknown, {}, gpus, gpus},
      {known, {.bind_to = BindTo::core}, cpus, nothing},
      {known, {.bind_to = BindTo::numa}, cpus, nothing},
      {known, {.bind_to = BindTo::automatic}, gpus, nothing},
      {known, {.gpu_bind = GpuBind::rank}, gpus, nothing},
      {known, {.bind_to = BindTo::core, .report_bindings = true}, gpus, gpus},
  };
  for (const Case& c : cases) {
    RunConfig config;
    config.placement = c.placement;
    CHECK(resource_need(config, c.hosts) == c.need);
    config.dry_run = true;
    CHECK(resource_need(config, c.hosts) == c.need_of_dry_run);
  }
}

TEST_CASE("with_forwarded_devices: a forwarded list replaces the hosts' own") {
  std::vector<HostResources> resources(2);
  resources[1].visible.cuda = "1";
  CHECK(with_forwarded_devices(resources, {{"PATH", "/bin"}}) == resources);
  for (const HostResources& host :
       with_forwarded_devices(resources, {{"CUDA_VISIBLE_DEVICES", "0,2"}}))
    CHECK(host.visible.cuda == "0,2");
}

TEST_CASE("resource_warnings: a problem with GPUs is reported once, with all hosts") {
  const std::vector<Host> hosts = {{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}};
  std::vector<HostResources> resources(4);
  resources[0].gpu_failure = resources[2].gpu_failure = "cannot list GPUs: why";
  resources[1].gpu_failure = "cannot list GPUs: no such library";
  resources[1].has_driver = false;
  resources[3].gpus.warnings = {"GPU 2 cannot be used: GPU is lost"};
  CHECK(resource_warnings(hosts, resources) ==
        std::vector<std::string>{"d: GPU 2 cannot be used: GPU is lost",
                                 "a, c: cannot list GPUs: why"});
  CHECK(resource_warnings(hosts, {}).empty());
}

TEST_CASE(
    "job_plan: of a given cluster this machine is the one host, and its roles need commands") {
  RunConfig config;
  config.external_cluster = parse_cluster_option("worker|localhost:5;h2:5,ps|h3:5", "x").value();
  config.roles = roles_of(*config.external_cluster);
  config.command = {"train"};
  const HostList hosts = job_hosts(config).value();
  CHECK(hosts == HostList{{{.name = "localhost", .slots = 1, .here = true}}, {}});
  const Plan plan = job_plan(config, hosts.hosts, {}).value();
  CHECK(plan.tasks.size() == 1);
  CHECK(plan.is_partial());
  config.stdin_target = {.kind = StdinTarget::Kind::rank, .rank = 1};
  CHECK(check_targets(config, plan).error().message == "--stdin 1: rank 1 is not started here");
  config.command.clear();
  config.roles.front().command = {"serve"};
  CHECK(config.roles.front().name == "ps");
  CHECK(job_plan(config, hosts.hosts, {}).error().message ==
        "no command given for role worker, which has tasks here; write it at the end, or as "
        "--role-command worker=COMMAND");
}

}  // namespace
}  // namespace dt
