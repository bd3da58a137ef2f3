#include "launcher/job/generations/next_plan.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr AgentState connecting = AgentState::connecting;
constexpr AgentState connected = AgentState::connected;
constexpr AgentState lost = AgentState::lost;

/// Two ranks on a, two on b; then spares.
Plan plan_with(std::vector<Host> spares) {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 2}, {.name = "b", .slots = 2}};
  request.spares = std::move(spares);
  return make_plan(request).value();
}

std::vector<std::string> names(const std::vector<Host>& hosts) {
  std::vector<std::string> all;
  for (const Host& host : hosts)
    all.push_back(host.name);
  return all;
}

using Names = std::vector<std::string>;

TEST_CASE("next_plan: the same hosts, the same plan") {
  const Plan plan = plan_with({{.name = "s", .slots = 2}});
  const NextPlan next = next_plan(plan, {}, {connected, connected, connected});
  CHECK(next.plan == plan);
  CHECK(next.missing.empty());
  CHECK(next.taken.empty());
}

TEST_CASE("next_plan: a spare takes the place of a lost host, with the same ranks") {
  const Plan plan = plan_with({{.name = "s", .slots = 4}, {.name = "t", .slots = 2}});
  const NextPlan next = next_plan(plan, {{.name = "old"}}, {lost, connected, connected, connected});
  CHECK(names(hosts_of(next.plan)) == Names{"s", "b", "t"});
  CHECK(next.plan.tasks == plan.tasks);
  CHECK(next.plan.hosts[0].tasks == plan.hosts[0].tasks);
  CHECK(next.plan.host_count() == 2);
  CHECK(names(next.lost) == Names{"old", "a"});
  CHECK(next.taken == Names{"s"});
  CHECK(next.missing.empty());
}

TEST_CASE("next_plan: a spare with too few slots, or one that connects, takes no place") {
  const Plan plan = plan_with({{.name = "s", .slots = 1}, {.name = "t", .slots = 2}});
  const NextPlan next = next_plan(plan, {}, {connected, lost, connected, connecting});
  CHECK(names(hosts_of(next.plan)) == Names{"a", "b", "s", "t"});
  CHECK(next.missing == std::vector<size_t>{1});
  CHECK(next.lost.empty());
}

TEST_CASE(
    "next_plan: lost spares leave the plan; a connecting host that lost its place is a spare") {
  const Plan plan = plan_with({{.name = "s", .slots = 2}, {.name = "t", .slots = 2}});
  const NextPlan next = next_plan(plan, {}, {connecting, connected, lost, connected});
  CHECK(names(hosts_of(next.plan)) == Names{"t", "b", "a"});
  CHECK(names(next.lost) == Names{"s"});
}

TEST_CASE("next_plan: two lost hosts and one spare") {
  const Plan plan = plan_with({{.name = "s", .slots = 2}});
  const NextPlan next = next_plan(plan, {}, {lost, lost, connected});
  CHECK(names(hosts_of(next.plan)) == Names{"s", "b"});
  CHECK(next.missing == std::vector<size_t>{1});
  CHECK(names(next.lost) == Names{"a"});
}

TEST_CASE("can_replace: the slots of the place, or its tasks where it has more slots") {
  PlannedHost place = {.host = {.name = "a", .slots = 8}, .tasks = {0, 1}};
  CHECK(can_replace({.name = "s", .slots = 2}, place));
  CHECK_FALSE(can_replace({.name = "s", .slots = 1}, place));
  place.host.slots = 1;  // oversubscribed
  CHECK(can_replace({.name = "s", .slots = 1}, place));
}

TEST_CASE("useless_spare_warnings: a spare that is too small for every place") {
  const std::vector<Host> large = {{.name = "s", .slots = 2}};
  const std::vector<Host> small = {{.name = "s", .slots = 1}};
  CHECK(useless_spare_warnings(plan_with(large), large).empty());
  CHECK(useless_spare_warnings(plan_with(small), {}).empty());  // a host of -H
  CHECK(useless_spare_warnings(plan_with(small), small) ==
        Names{"--spare s:1: it has fewer slots than each host of the job has processes, and can "
              "take no place"});
}

}  // namespace
}  // namespace dt
