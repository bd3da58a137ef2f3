#include "launcher/plan/binding.h"

#include "base/text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

namespace dt {
namespace {

/// A machine with these GPUs, each given by its NUMA node.
HostResources host(const std::string& cpus, const std::vector<int>& gpu_nodes = {}) {
  HostResources resources;
  resources.topology = synthetic_topology(cpus).value();
  for (const int node : gpu_nodes) {
    const int index = static_cast<int>(resources.gpus.gpus.size());
    resources.gpus.gpus.push_back({.index = index,
                                   .uuid = "GPU-" + std::to_string(index),
                                   .name = "H100",
                                   .numa_node = node,
                                   .visible_as = std::to_string(index)});
  }
  return resources;
}

/// The CPUs of each task, as "0-1 2-3", or the error.
std::string cpus_of(const Result<HostBindings>& bindings) {
  if (!bindings) return bindings.error().message;
  std::vector<std::string> sets;
  for (const Binding& binding : bindings->tasks)
    sets.push_back(binding.cpus.empty() ? "-" : ranges_text(binding.cpus));
  return join(sets, " ") + (bindings->note.empty() ? "" : "; " + bindings->note);
}

TEST_CASE("--bind-to gives each process CPUs of its own host") {
  struct Case {
    BindTo bind_to;
    const char* machine;
    std::vector<int> gpu_nodes;
    int tasks;
    const char* expected;
  };
  using enum BindTo;
  const char* const two_nodes = "numa:2 core:2 pu:2";
  const char* const four_cores = "core:4 pu:1";
  const Case cases[] = {
      {none, two_nodes, {0, 1}, 2, "- -"},
      {core, two_nodes, {}, 3, "0-1 2-3 4-5"},
      {core, four_cores, {}, 4, "0 1 2 3"},
      {core,
       four_cores,
       {},
       5,
       "--bind-to core: 5 processes on 4 cores; use --bind-to auto, which then binds none"},
      {numa, two_nodes, {}, 1, "0-3"},
      {numa, two_nodes, {}, 2, "0-3 4-7"},
      {numa, two_nodes, {}, 4, "0-3 0-3 4-7 4-7"},
      {numa, two_nodes, {}, 9, "0-3 0-3 0-3 0-3 0-3 4-7 4-7 4-7 4-7"},
      {numa, four_cores, {}, 2, "0-3 0-3"},
      {automatic, two_nodes, {}, 2, "0-3 4-7"},
      {automatic, two_nodes, {}, 3, "0-1 2-3 4-7"},
      {automatic, four_cores, {}, 3, "0 1 2-3"},
      {automatic, four_cores, {}, 1, "0-3"},
      {automatic, four_cores, {}, 5, "- - - - -; 5 processes on 4 cores are not bound"},
      {automatic, two_nodes, {1, 0}, 2, "4-7 0-3"},
      {automatic, two_nodes, {1, 1, 0, 0}, 4, "4-7 4-7 0-3 0-3"},
      {automatic, two_nodes, {0, -1}, 2, "0-3 4-7"},    // not known of all: equal shares
      {automatic, two_nodes, {1, 7}, 2, "0-3 4-7"},     // a node outside of what we may use
      {automatic, two_nodes, {1}, 2, "0-3 4-7"},        // more processes than GPUs
      {automatic, four_cores, {-1, -1}, 2, "0-3 0-3"},  // the only node there is
      {automatic, four_cores, {0, 0}, 5, "- - - - -; 5 processes on 4 cores are not bound"},
      {near_gpu, two_nodes, {1, 0}, 2, "4-7 0-3"},
      {near_gpu, two_nodes, {1}, 2, "0-3 4-7"},
      {near_gpu, two_nodes, {}, 3, "0-3 0-3 4-7"},
      {near_gpu, four_cores, {}, 5, "0-3 0-3 0-3 0-3 0-3"},
      {near_gpu, four_cores, {0, 0}, 5, "- - - - -; 5 processes on 4 cores are not bound"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.expected);
    CHECK(cpus_of(bind_host({.bind_to = c.bind_to}, c.tasks, host(c.machine, c.gpu_nodes))) ==
          c.expected);
  }
}

TEST_CASE("equal shares are whole cores, disjoint, all of them used and equal but for one") {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp,bugprone-random-generator-seed): reproducible
  for (int round = 0; round < 100; ++round) {
    const size_t cores = 1 + random() % 32;
    const int tasks = 1 + static_cast<int>(random() % cores);
    CAPTURE(cores);
    CAPTURE(tasks);
    const HostResources resources = host("core:" + std::to_string(cores) + " pu:2");
    const auto bound = bind_host({.bind_to = BindTo::automatic}, tasks, resources).value();
    std::set<int> used;
    size_t least = cores;
    size_t most = 0;
    for (const Binding& binding : bound.tasks) {
      for (const int cpu : binding.cpus)
        CHECK(used.insert(cpu).second);
      least = std::min(least, binding.cpus.size() / 2);
      most = std::max(most, binding.cpus.size() / 2);
    }
    CHECK(used.size() == 2 * cores);
    CHECK(most - least <= 1);
  }
}

/// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER of each task, or the error.
std::string gpus_of(const HostResources& resources, int tasks) {
  const auto bindings = bind_host({.gpu_bind = GpuBind::rank}, tasks, resources);
  if (!bindings) return bindings.error().message;
  std::vector<std::string> words;
  for (const Binding& binding : bindings->tasks) {
    CHECK(binding.cpus.empty());
    std::string word = binding.environment.at("CUDA_VISIBLE_DEVICES");
    CHECK(binding.gpus.value().at(0).visible_as == word);
    if (binding.environment.contains("CUDA_DEVICE_ORDER"))
      word += "@" + binding.environment.at("CUDA_DEVICE_ORDER");
    words.push_back(std::move(word));
  }
  return join(words, " ");
}

TEST_CASE("--gpu-bind rank gives each process the GPU of its local rank, of those inherited") {
  HostResources resources = host("core:2 pu:1", {0, 0, 0});
  CHECK(gpus_of(resources, 2) == "0@PCI_BUS_ID 1@PCI_BUS_ID");
  CHECK(gpus_of(resources, 4) ==
        "--gpu-bind rank: 4 processes on 3 GPUs; use --ppn 3 or --gpu-bind none, or for tests "
        "--gpu-share");
  // With a list of the user, the order of its numbers is also the user's choice.
  resources.visible.cuda = "2,0";
  CHECK(gpus_of(resources, 2) == "2 0");
  CHECK(gpus_of(resources, 3) ==
        "--gpu-bind rank: 3 processes on 2 GPUs; use --ppn 2 or --gpu-bind none, or for tests "
        "--gpu-share");
  resources.visible.cuda = "GPU-1,GPU-2";
  CHECK(gpus_of(resources, 2) == "GPU-1 GPU-2");
  resources = host("core:2 pu:1");
  resources.gpu_failure = "cannot list GPUs: why";
  CHECK(gpus_of(resources, 1) == "--gpu-bind rank: cannot list GPUs: why");
  CHECK(bind_host({}, 1, resources).value().tasks == std::vector<Binding>(1));
}

TEST_CASE("with --gpu-share GPUs are given in turn, and there must be one") {
  HostResources resources = host("core:2 pu:1", {0, 0});
  const PlacementOptions sharing = {.gpu_bind = GpuBind::rank, .gpu_share = true};
  const auto bound = bind_host(sharing, 3, resources);
  REQUIRE(bound.has_value());
  CHECK(bound->tasks[0] == bound->tasks[2]);
  CHECK(bound->tasks[0] != bound->tasks[1]);
  CHECK(bind_host(sharing, 3, host("core:2 pu:1"))
            .error()
            .message.starts_with("--gpu-bind rank: 3 processes on 0 GPUs"));
}

Plan plan_of(const std::vector<Host>& hosts, MapBy by) {
  return make_plan({.hosts = hosts, .map_by = by, .rank_by = by}).value();
}

TEST_CASE("bind_plan binds each host's tasks within that host, whatever their ranks") {
  const std::vector<Host> hosts = {
      {.name = "a", .slots = 2}, {.name = "idle", .slots = 1}, {.name = "b", .slots = 2}};
  const std::vector<HostResources> resources = {host("core:2 pu:1", {0, 0}), host("core:9 pu:1"),
                                                host("core:4 pu:2", {0})};
  // Like a plan that has left a host out.
  const Plan plan = plan_of({hosts[0], hosts[2]}, MapBy::node);
  const Bindings bindings =
      bind_plan({.bind_to = BindTo::automatic, .report_bindings = true}, plan, hosts, resources)
          .value();
  CHECK(bindings.lines ==
        std::vector<std::string>{"rank 0 on a: cpus 0-1, NUMA node 0, GPU 0 (H100), 1 (H100)",
                                 "rank 1 on b: cpus 0-3, NUMA node 0, GPU 0 (H100)",
                                 "rank 2 on a: cpus 0-1, NUMA node 0, GPU 0 (H100), 1 (H100)",
                                 "rank 3 on b: cpus 4-7, NUMA node 0, GPU 0 (H100)"});
  REQUIRE(bindings.tasks.size() == 4);
  CHECK(bindings.tasks[3].cpus == std::vector<int>{4, 5, 6, 7});
  CHECK(bind_plan({}, plan, hosts, resources).value().lines.empty());
}

TEST_CASE("bind_plan also reports tasks that are not bound, and a task's own GPU") {
  const std::vector<Host> hosts = {{.name = "a", .slots = 2}};
  const Plan plan = plan_of(hosts, MapBy::slot);
  const auto lines_of = [&](const PlacementOptions& options, const HostResources& resources) {
    return bind_plan(options, plan, hosts, {resources}).value().lines;
  };
  CHECK(lines_of({.report_bindings = true}, host("numa:2 core:2 pu:1")) ==
        std::vector<std::string>{"rank 0 on a: cpus 0-3 (not bound), NUMA node 0-1, GPU none",
                                 "rank 1 on a: cpus 0-3 (not bound), NUMA node 0-1, GPU none"});
  CHECK(lines_of({.bind_to = BindTo::core, .report_bindings = true, .gpu_bind = GpuBind::rank},
                 host("numa:2 core:2 pu:1", {0, 1})) ==
        std::vector<std::string>{"rank 0 on a: cpus 0, NUMA node 0, GPU 0 (H100)",
                                 "rank 1 on a: cpus 1, NUMA node 0, GPU 1 (H100)"});
}

TEST_CASE("bind_plan names all hosts that lack resources, and those that are not bound") {
  const std::vector<Host> hosts = {
      {.name = "a", .slots = 3}, {.name = "b", .slots = 3}, {.name = "c", .slots = 3}};
  const Plan plan = plan_of(hosts, MapBy::slot);
  const std::vector<HostResources> resources = {host("core:2 pu:1"), host("core:4 pu:1"),
                                                host("core:2 pu:1")};
  const auto refused = bind_plan({.bind_to = BindTo::core}, plan, hosts, resources);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Errc::input);
  CHECK(refused.error().message ==
        "a, c: --bind-to core: 3 processes on 2 cores; use --bind-to auto, which then binds none");
  CHECK(bind_plan({.bind_to = BindTo::automatic}, plan, hosts, resources).value().notes ==
        std::vector<std::string>{"a: 3 processes on 2 cores are not bound",
                                 "c: 3 processes on 2 cores are not bound"});
  CHECK(bind_plan({.bind_to = BindTo::core}, plan, hosts, {}).value().tasks ==
        std::vector<Binding>(9));
}

TEST_CASE("a process of a partial plan has the share of its local rank") {
  Plan plan;
  plan.hosts = {{.host = {.name = "a"}}};
  plan.world_size = 8;
  plan.add({.id = {"worker", 5}, .rank = 5, .local_rank = 1});
  plan.hosts.front().ranked = 4;
  const HostResources resources = host("core:4 pu:1", {0, 0, 0, 0});
  const Bindings bound =
      bind_plan({.bind_to = BindTo::core, .report_bindings = true, .gpu_bind = GpuBind::rank}, plan,
                {{.name = "a"}}, {resources})
          .value();
  REQUIRE(bound.tasks.size() == 1);
  CHECK(bound.tasks[0].cpus == std::vector<int>{1});
  CHECK(bound.tasks[0].gpus.value().at(0).index == 1);
  CHECK(bound.lines.size() == 1);
}

}  // namespace
}  // namespace dt
