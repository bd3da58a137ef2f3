#include "launcher/process/topology.h"

#include "tests/unit/affinity.h"

#include <doctest/doctest.h>

#include <sched.h>

namespace dt {
namespace {

TEST_CASE("a topology is cores, their hardware threads and their NUMA nodes") {
  const Topology machine = synthetic_topology("numa:2 core:2 pu:2").value();
  CHECK(machine.cores == std::vector<Core>{{{0, 1}, 0}, {{2, 3}, 0}, {{4, 5}, 1}, {{6, 7}, 1}});
  CHECK(machine.cpus() == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(machine.numa_nodes() == std::vector<int>{0, 1});
  CHECK(machine.cpus_of_node(1) == std::vector<int>{4, 5, 6, 7});
  CHECK(machine.cpus_of_node(2).empty());
}

TEST_CASE("a core's NUMA node is the nearest one, however hwloc nests them") {
  for (const char* description : {"pack:2 [numa] core:2 pu:1", "pack:2 group:1 [numa] core:2 pu:1",
                                  "pack:2 [numa] l3:2 core:1 pu:1", "numa:2 pack:1 core:2 pu:1"}) {
    CAPTURE(description);
    const Topology machine = synthetic_topology(description).value();
    CHECK(machine.cores == std::vector<Core>{{{0}, 0}, {{1}, 0}, {{2}, 1}, {{3}, 1}});
  }
}

TEST_CASE("threads of a core may have numbers far from each other") {
  // As Linux numbers them on x86: first one thread of every core, then the others.
  const Topology machine = synthetic_topology("numa:1 core:3 pu:2(indexes=0,3,1,4,2,5)").value();
  CHECK(machine.cores == std::vector<Core>{{{0, 3}, 0}, {{1, 4}, 0}, {{2, 5}, 0}});
  CHECK(machine.cpus() == std::vector<int>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a text that describes no machine is refused") {
  CHECK_FALSE(synthetic_topology("").has_value());
  CHECK_FALSE(synthetic_topology("two of them").has_value());
}

TEST_CASE("own_topology keeps to the affinity that was inherited") {
  const std::vector<int> before = own_affinity();
  CHECK(own_topology().value().cpus() == before);
  for (const int cpu : before) {
    set_own_affinity({cpu});
    const auto topology = own_topology();
    set_own_affinity(before);
    REQUIRE(topology.has_value());
    REQUIRE(topology->cores.size() == 1);
    CHECK(topology->cores[0].cpus == std::vector<int>{cpu});
  }
}

TEST_CASE("ranges_text writes numbers as taskset does") {
  const std::pair<std::vector<int>, const char*> cases[] = {{{}, ""},
                                                            {{0}, "0"},
                                                            {{0, 1}, "0-1"},
                                                            {{0, 1, 2, 3}, "0-3"},
                                                            {{0, 2}, "0,2"},
                                                            {{0, 1, 4}, "0-1,4"},
                                                            {{3, 8, 9, 12}, "3,8-9,12"}};
  for (const auto& [numbers, text] : cases)
    CHECK(ranges_text(numbers) == text);
}

}  // namespace
}  // namespace dt
