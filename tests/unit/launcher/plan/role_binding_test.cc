#include "launcher/plan/role_binding.h"

#include "base/text.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>

namespace dt {
namespace {

HostResources machine_of_roles(const std::string& cpus, int gpus) {
  HostResources resources;
  resources.topology = synthetic_topology(cpus).value();
  for (int index = 0; index < gpus; ++index) {
    resources.gpus.gpus.push_back({.index = index,
                                   .uuid = "GPU-" + std::to_string(index),
                                   .name = "H100",
                                   .numa_node = 0,
                                   .visible_as = std::to_string(index)});
  }
  return resources;
}

Role asking(const char* name, int count, RoleResources resources) {
  return {
      .name = name, .count = count, .ranked = is_ranked(name), .resources = std::move(resources)};
}

Plan plan_on_one_host(std::vector<Role> roles) {
  return make_plan({.hosts = {{.name = "a", .slots = 64}}, .roles = std::move(roles)}).value();
}

/// Returns "cpus/devices" of each task, "-" where it is not bound, or the error.
std::string bound(const std::vector<Role>& roles, const HostResources& resources,
                  const PlacementOptions& options = {}) {
  const auto bindings = bind_planned(options, plan_on_one_host(roles), 0, resources);
  if (!bindings) return bindings.error().message;
  std::vector<std::string> words;
  for (const Binding& one : bindings->tasks) {
    const auto devices = one.environment.find("CUDA_VISIBLE_DEVICES");
    words.push_back((one.cpus.empty() ? "-" : ranges_text(one.cpus)) + "/" +
                    (devices == one.environment.end() ? "-" : devices->second));
  }
  return join(words, " ");
}

std::optional<GpuCount> gpus(const char* text) {
  return parse_gpu_count(text).value();
}

TEST_CASE("GPUs are dealt to the tasks of a host in their order") {
  const HostResources four = machine_of_roles("core:4 pu:1", 4);
  CHECK(bound({asking("worker", 2, {.gpus = gpus("2")})}, four) == "-/0,1 -/2,3");
  CHECK(bound({asking("chief", 1, {.gpus = gpus("2")}), asking("worker", 2, {.gpus = gpus("1")}),
               asking("ps", 1, {.gpus = gpus("0")})},
              four) == "-/0,1 -/2 -/3 -/");
  CHECK(bound({asking("worker", 5, {.gpus = gpus("0.5")}), asking("ps", 1, {.gpus = gpus("1")})},
              four) == "-/0 -/0 -/1 -/1 -/2 -/3");
  // A shared GPU is shared within a role.
  CHECK(
      bound({asking("chief", 1, {.gpus = gpus("0.5")}), asking("worker", 1, {.gpus = gpus("0.5")})},
            four) == "-/0 -/1");
  // A role without GPUs sees all, or those of --gpu-bind.
  CHECK(
      bound({asking("chief", 1, {.gpus = gpus("1")}), asking("worker", 1, {}), asking("ps", 1, {})},
            four) == "-/0 -/- -/-");
  CHECK(
      bound({asking("chief", 1, {.gpus = gpus("2")}), asking("worker", 2, {}), asking("ps", 1, {})},
            four, {.gpu_bind = GpuBind::rank}) == "-/0,1 -/2 -/3 -/-");
}

TEST_CASE("more GPUs than a host has are an error with both numbers") {
  HostResources two = machine_of_roles("core:4 pu:1", 2);
  CHECK(bound({asking("worker", 2, {.gpus = gpus("1")}), asking("ps", 2, {.gpus = gpus("0.5")})},
              two) ==
        "the roles ask for 3 GPUs (worker 2 x 1, ps 2 x 0.5), but 2 can be used there");
  CHECK(bound({asking("worker", 3, {.gpus = gpus("0")})}, machine_of_roles("core:1 pu:1", 0)) ==
        "-/ -/ -/");
  two.gpus.gpus.clear();
  two.gpu_failure = "cannot list GPUs";
  CHECK(bound({asking("worker", 1, {.gpus = gpus("1")})}, two) ==
        "the roles ask for 1 GPUs (worker 1 x 1), but 0 can be used there (cannot list GPUs)");
}

TEST_CASE("cores are dealt with all their hardware threads, and --bind-to has the rest") {
  const HostResources eight = machine_of_roles("numa:2 core:4 pu:2", 0);
  CHECK(bound({asking("worker", 2, {.cpus = 3})}, eight) == "0-5/- 6-11/-");
  CHECK(bound({asking("worker", 2, {}), asking("ps", 2, {.cpus = 1})}, eight) ==
        "-/- -/- 0-1/- 2-3/-");
  CHECK(bound({asking("worker", 2, {}), asking("ps", 2, {.cpus = 1})}, eight,
              {.bind_to = BindTo::core}) == "4-5/- 6-7/- 0-1/- 2-3/-");
  CHECK(bound({asking("worker", 2, {}), asking("ps", 1, {.cpus = 4})}, eight,
              {.bind_to = BindTo::numa}) == "8-15/- 8-15/- 0-7/-");
  CHECK(bound({asking("worker", 2, {}), asking("ps", 1, {.cpus = 4})}, eight,
              {.bind_to = BindTo::automatic}) == "8-11/- 12-15/- 0-7/-");
  CHECK(bound({asking("worker", 3, {.cpus = 3})}, eight) ==
        "the roles ask for 9 cores (worker 3 x 3), but 8 can be used there");
  CHECK(bound({asking("worker", 1, {}), asking("ps", 1, {.cpus = 8})}, eight,
              {.bind_to = BindTo::core}) ==
        "--role-cpus leaves no core for 1 processes of other roles, which --bind-to binds");
}

TEST_CASE("memory is limited where the host allows it, and never beyond what is there") {
  HostResources host = machine_of_roles("core:2 pu:1", 0);
  const std::vector<Role> roles = {asking("worker", 2, {.memory_bytes = uint64_t{1} << 30})};
  const Plan plan = plan_on_one_host(roles);
  CHECK(bind_planned({}, plan, 0, host)->tasks[1].memory_max == 0);
  CHECK(memory_warnings(plan, {{.name = "other"}, {.name = "a", .slots = 64}}, {{}, host}).size() ==
        1);
  host.limits_memory = true;
  host.memory_bytes = uint64_t{2} << 30;
  CHECK(bind_planned({}, plan, 0, host)->tasks[1].memory_max == uint64_t{1} << 30);
  CHECK(memory_warnings(plan, {{.name = "a", .slots = 64}}, {host}).empty());
  CHECK(memory_warnings(plan_on_one_host({asking("worker", 1, {})}), {{.name = "a", .slots = 64}},
                        {HostResources()})
            .empty());
  host.memory_bytes = uint64_t{1} << 30;
  CHECK(bound(roles, host) == "the roles ask for 2G of memory (worker 2 x 1G), but 1G is there");
}

TEST_CASE("only roles with resources need those of the hosts") {
  CHECK_FALSE(needs_gpus({asking("ps", 1, {.cpus = 1, .gpus = gpus("0")})}));
  CHECK(needs_gpus({asking("ps", 1, {.gpus = gpus("0.5")})}));
  CHECK(needs_cpus_or_memory({asking("ps", 1, {.cpus = 1})}));
  CHECK(needs_cpus_or_memory({asking("ps", 1, {.memory_bytes = 1})}));
  CHECK_FALSE(needs_cpus_or_memory({asking("ps", 1, {.gpus = gpus("1")})}));
}

TEST_CASE("a task without a rank is reported if its role has resources") {
  HostResources host = machine_of_roles("core:2 pu:1", 2);
  host.limits_memory = true;
  const Plan plan = plan_on_one_host(
      {asking("worker", 1, {.cpus = 1, .gpus = gpus("1"), .memory_bytes = 1 << 20}),
       asking("ps", 1, {.gpus = gpus("0")}), asking("evaluator", 1, {})});
  const auto bindings =
      bind_plan({.report_bindings = true}, plan, {{.name = "a", .slots = 64}}, {host});
  REQUIRE(bindings.has_value());
  CHECK(bindings->lines ==
        std::vector<std::string>{"rank 0 on a: cpus 0, NUMA node 0, GPU 0 (H100), memory 1M",
                                 "ps:0 on a: cpus 0-1 (not bound), NUMA node 0, GPU none"});
}

}  // namespace
}  // namespace dt
