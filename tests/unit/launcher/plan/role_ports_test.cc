#include "launcher/plan/role_ports.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace dt {
namespace {

Plan plan_with_ports(std::vector<uint16_t> ps_ports, std::vector<uint16_t> worker_ports) {
  return make_plan({.hosts = {{.name = "a", .slots = 2}, {.name = "b", .slots = 2}},
                    .roles = {{.name = "ps",
                               .count = 2,
                               .hosts = {{.name = "a", .slots = 1}, {.name = "b", .slots = 1}},
                               .ranked = false,
                               .ports = std::move(ps_ports)},
                              {.name = "worker", .count = 2, .ports = std::move(worker_ports)}}})
      .value();
}

std::string fault_of_ports(const Plan& plan) {
  const auto checked = check_ports(plan);
  return checked ? "" : checked.error().message;
}

TEST_CASE("a port is that of one task, or of each task on a host of its own") {
  const Plan one = plan_with_ports({2222}, {});
  CHECK(fault_of_ports(one).empty());
  CHECK(fixed_addresses(one, one.hosts[0]) == std::vector<std::string>{"a:2222"});
  CHECK(fixed_addresses(one, one.hosts[1]) == std::vector<std::string>{"b:2222"});
  CHECK_FALSE(fixed_port(one, one.tasks[0]));
  const Plan each = plan_with_ports({2222, 2223}, {3000, 3001});
  CHECK(fault_of_ports(each).empty());
  CHECK(fixed_port(each, each.tasks[1]) == 3001);
  CHECK(fixed_port(each, each.tasks[3]) == 2223);
}

TEST_CASE("a port for two tasks of a host, and a wrong number of ports, are errors") {
  CHECK(fault_of_ports(plan_with_ports({2222}, {2222, 2300})) ==
        "--role-ports: worker:0 and ps:0 are both on a, and have port 2222; give each task a port "
        "of its own");
  CHECK(fault_of_ports(plan_with_ports({1, 2, 3}, {})) ==
        "--role-ports: role ps has 2 tasks, but 3 ports");
}

}  // namespace
}  // namespace dt
