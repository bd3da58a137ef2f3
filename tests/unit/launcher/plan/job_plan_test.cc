#include "launcher/plan/job_plan.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("check_targets: the reader of dtrain's input must be an existing rank") {
  const auto answer = [](const char* cluster, int rank) {
    RunConfig config;
    config.external_cluster = parse_cluster_option(cluster, "x").value();
    config.roles = roles_of(*config.external_cluster);
    config.command = {"train"};
    config.stdin_target = {.kind = StdinTarget::Kind::rank, .rank = rank};
    const ResolvedHosts resolved = resolve_hosts(config, {}).value();
    const Result<> checked = check_targets(config, job_plan(config, resolved, {}).value());
    return checked ? "good" : checked.error().message;
  };
  CHECK(answer("worker|localhost:5,ps|localhost:6", 0) == "good");
  CHECK(answer("worker|localhost:5;localhost:6", 2) == "--stdin 2: there are only 2 ranks, 0 to 1");
  CHECK(answer("worker|localhost:5;h2:5", 1) == "--stdin 1: rank 1 is not started here");
  CHECK(answer("ps|localhost:5", 0) == "--stdin 0: no task of this job has a rank");
}

TEST_CASE("with_slots: a host without slots offers its GPUs, else the CPUs it may use") {
  const std::vector<Host> hosts = {{.name = "a"}, {.name = "b"}, {.name = "c", .slots = 9}};
  const Topology six_cpus = synthetic_topology("core:3 pu:2").value();
  const GpuList two_gpus = {.gpus = {{.index = 0, .uuid = "GPU-0"}, {.index = 1, .uuid = "GPU-1"}}};
  std::vector<HostResources> resources = {
      {.topology = six_cpus}, {.topology = six_cpus, .gpus = two_gpus}, {.topology = six_cpus}};
  const std::vector<Host> filled = with_slots(hosts, resources);
  CHECK(filled[0].slots == 6);
  CHECK(filled[1].slots == 2);
  CHECK(filled[2].slots == 9);
  CHECK(with_slots({{.name = "a", .max_slots = 4}}, resources)[0].slots == 4);
  resources[1].visible.cuda = "1";
  CHECK(with_slots(hosts, resources)[1].slots == 1);
  resources[1].visible.cuda = "";
  CHECK(with_slots(hosts, resources)[1].slots == 6);
}

TEST_CASE("job_plan: resources decide only the slots that are not known") {
  RunConfig config;
  config.hosts = {{.name = "a"}, {.name = "b", .slots = 1}};
  const std::vector<HostResources> resources(
      2, {.topology = synthetic_topology("core:3 pu:1").value()});
  const ResolvedHosts open = resolve_hosts(config, {}).value();
  CHECK(job_plan(config, open, resources).value().tasks.size() == 4);
  config.hosts[0].slots = 1;
  const ResolvedHosts known = resolve_hosts(config, {}).value();
  CHECK(job_plan(config, known, resources).value() == known.plan);
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

}  // namespace
}  // namespace dt
