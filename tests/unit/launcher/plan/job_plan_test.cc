#include "launcher/plan/job_plan.h"

#include "base/format.h"
#include "base/text.h"

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

TEST_CASE("shown_ranks_warnings: a filter that leaves no output is a warning") {
  Plan plan;
  for (int rank = 0; rank < 4; ++rank)
    plan.tasks.push_back({.id = {"worker", rank}, .rank = rank, .local_rank = rank % 2});
  const auto warnings = [&plan](const std::vector<int>& shown) {
    return join(shown_ranks_warnings(shown, plan), "; ");
  };
  CHECK(warnings({}).empty());
  CHECK(warnings({1}).empty());
  CHECK(warnings({7, 0}).empty());
  CHECK(warnings({2, 3}) ==
        "--local-ranks-filter: no output is shown, since the local ranks of this job are 0 to 1");
  plan.tasks = {{.id = {"ps", 0}}};
  CHECK(warnings({0}) ==
        "--local-ranks-filter: no output is shown, since no task of this job has a rank");
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
  CHECK(with_slots(hosts, resources, SlotUnit::cpu)[1].slots == 6);
  CHECK(with_slots({{.name = "a", .max_slots = 4}}, resources)[0].slots == 4);
  const std::vector<Host> of_scheduler = {{.name = "a", .slots_without_gpus = 5},
                                          {.name = "b", .slots_without_gpus = 5}};
  CHECK(with_slots(of_scheduler, resources)[0].slots == 5);
  CHECK(with_slots(of_scheduler, resources)[1].slots == 2);
  for (const auto& [quota, slots] : {std::pair{4, 4}, {0, 1}, {64, 6}}) {
    resources[0].cpu_quota = quota;
    CHECK(with_slots(hosts, resources)[0].slots == slots);
  }
  resources[0].cpu_quota = {};
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

/// Returns "a:0 a:1 b:2", the host of each rank.
std::string dealt(const RunConfig& config, const std::vector<HostResources>& resources) {
  const Plan plan = job_plan(config, resolve_hosts(config, {}).value(), resources).value();
  std::string text;
  for (const Task& task : plan.tasks)
    text += format("{}{}:{}", text.empty() ? "" : " ",
                   plan.hosts[static_cast<size_t>(task.agent)].host.name, task.rank);
  return text;
}

TEST_CASE("job_plan: processes are shared evenly, in blocks, where no host was given slots") {
  const HostResources three = {.topology = synthetic_topology("core:3 pu:1").value()};
  const HostResources one = {.topology = synthetic_topology("core:1 pu:1").value()};
  RunConfig config;
  config.hosts = {{.name = "a"}, {.name = "b"}};
  config.roles = workers(4);
  CHECK(dealt(config, {three, three}) == "a:0 a:1 b:2 b:3");
  CHECK(dealt(config, {three, one}) == "a:0 a:1 a:2 b:3");
  config.roles = workers(3);
  CHECK(dealt(config, {three, three}) == "a:0 a:1 b:2");
  config.placement.map_by = MapBy::slot;
  CHECK(dealt(config, {three, three}) == "a:0 a:1 a:2");
  config.placement = {.rank_by = MapBy::node};
  CHECK(dealt(config, {three, three}) == "a:0 b:1 a:2");
  config.placement = {};
  config.hosts[1].slots = 3;
  CHECK(dealt(config, {three, three}) == "a:0 a:1 a:2");
}

TEST_CASE("job_plan: a role is shared evenly among its own hosts without slots") {
  const HostResources three = {.topology = synthetic_topology("core:3 pu:1").value()};
  RunConfig config;
  config.hosts = {{.name = "a", .slots = 1}, {.name = "b"}, {.name = "c"}};
  config.roles = {{.name = "worker", .count = 2, .hosts = {{.name = "b"}, {.name = "c"}}},
                  {.name = "ps", .count = 1, .hosts = {{.name = "a"}}, .ranked = false}};
  CHECK(dealt(config, {three, three, three}) == "b:0 c:1 a:-1");
}

TEST_CASE("job_plan: processes fill the first hosts of a scheduler, whatever their agents find") {
  const HostResources cpus = {.topology = synthetic_topology("core:3 pu:1").value()};
  RunConfig config;
  config.hosts = {{.name = "a", .slots_without_gpus = 2}, {.name = "b", .slots_without_gpus = 2}};
  config.roles = workers(2);
  CHECK(dealt(config, {cpus, cpus}) == "a:0 a:1");
}

TEST_CASE("job_plan: --nproc-per-node gpu takes no CPUs") {
  const HostResources cpus = {.topology = synthetic_topology("core:3 pu:1").value()};
  HostResources gpu = cpus;
  gpu.gpus.gpus = {{.index = 0, .uuid = "GPU-0"}};
  RunConfig config;
  config.hosts = {{.name = "a"}, {.name = "b"}};
  config.placement.slot_unit = SlotUnit::gpu;
  CHECK(dealt(config, {gpu, gpu}) == "a:0 b:1");
  const auto plan = job_plan(config, resolve_hosts(config, {}).value(), {gpu, cpus});
  REQUIRE_FALSE(plan.has_value());
  CHECK(plan.error().message ==
        "--nproc-per-node gpu: no GPU can be used on b; write auto for CPUs there, or a number");
}

TEST_CASE("idle_host_warnings: a host without given slots that gets no process is named") {
  const std::vector<HostResources> resources(
      3, {.topology = synthetic_topology("core:3 pu:1").value()});
  const auto warnings = [&](const std::vector<Host>& hosts, int count) {
    RunConfig config;
    config.hosts = hosts;
    config.roles = workers(count);
    const ResolvedHosts resolved = resolve_hosts(config, {}).value();
    return idle_host_warnings(resolved, job_plan(config, resolved, resources).value());
  };
  const std::vector<Host> hosts = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  CHECK(warnings(hosts, 3).empty());
  CHECK(warnings(hosts, 2) ==
        std::vector<std::string>{"no process for c: the job has 2 processes on 2 of 3 hosts; leave "
                                 "it out, or start more processes"});
  CHECK(warnings(hosts, 1) ==
        std::vector<std::string>{"no process for b, c: the job has 1 process on 1 of 3 hosts; "
                                 "leave them out, or start more processes"});
  CHECK(warnings({{.name = "a", .slots = 2}, {.name = "b", .slots = 2}}, 1).empty());
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
      {known, {.bind_to = BindTo::near_gpu}, gpus, nothing},
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

TEST_CASE("own_device_warnings: a list of GPUs that stays on this machine is named") {
  const Environment own = {{"CUDA_VISIBLE_DEVICES", "1"}};
  const std::vector<Host> hosts = {{.name = "a", .here = true}, {.name = "b"}};
  CHECK(own_device_warnings(hosts, own, {}) ==
        std::vector<std::string>{"CUDA_VISIBLE_DEVICES=1 holds on this machine alone; -x "
                                 "CUDA_VISIBLE_DEVICES gives it to all hosts"});
  CHECK(own_device_warnings(hosts, own, own).empty());
  CHECK(own_device_warnings(hosts, {}, {}).empty());
  CHECK(own_device_warnings({hosts[0]}, own, {}).empty());
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
