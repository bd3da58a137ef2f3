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

/// The next plan of a job with these limits, after one on the given hosts.
NextPlan sized(const JobSize& size, const std::vector<Host>& hosts,
               const std::vector<AgentState>& states, bool is_first = false) {
  RunConfig config;
  config.restarts.max = 1;
  config.restarts.size = size;
  Plan last;
  last.roles = workers(0);
  for (const Host& host : hosts)
    last.hosts.push_back({.host = host});
  return sized_plan(last, {{.name = "old"}}, states, {.config = config, .is_first = is_first})
      .value();
}

const std::vector<Host> three = {
    {.name = "a", .slots = 2}, {.name = "b", .slots = 4}, {.name = "c", .slots = 2}};

TEST_CASE("sized_plan: all slots that are there, in the order of the hosts") {
  const NextPlan all = sized({.ranks_min = 2}, three, {connected, connected, connected});
  CHECK(all.plan.world_size == 8);
  CHECK(names(hosts_of(all.plan)) == Names{"a", "b", "c"});
  CHECK_FALSE(all.is_full);
  const NextPlan fewer = sized({.ranks_min = 2}, three, {lost, connected, connected});
  CHECK(fewer.plan.world_size == 6);
  CHECK(names(hosts_of(fewer.plan)) == Names{"b", "c"});
  CHECK(fewer.plan.tasks[0].agent == 0);
  CHECK(names(fewer.lost) == Names{"old", "a"});
  CHECK(fewer.slots_missing == 0);
}

TEST_CASE("sized_plan: hosts that are not needed, or connect, have no tasks") {
  const NextPlan next =
      sized({.ranks_min = 2, .ranks_max = 6}, three, {connected, connected, connected});
  CHECK(next.plan.world_size == 6);
  CHECK(next.plan.host_count() == 2);
  CHECK(names(hosts_of(next.plan)) == Names{"a", "b", "c"});
  CHECK(next.is_full);
  const NextPlan early = sized({.ranks_min = 2}, three, {connecting, connected, connected});
  CHECK(names(hosts_of(early.plan)) == Names{"b", "c", "a"});
  CHECK(early.plan.host_count() == 2);
}

TEST_CASE("sized_plan: with too few slots no host has tasks") {
  const NextPlan next = sized({.ranks_min = 7}, three, {connected, connected, lost});
  CHECK(next.slots_missing == 1);
  CHECK(next.plan.tasks.empty());
  CHECK(names(hosts_of(next.plan)) == Names{"a", "b"});
  CHECK(next.plan.roles == workers(0));
}

TEST_CASE("sized_plan: the first start may need more slots than later ones") {
  const JobSize size = {.ranks_min = 2, .ranks_first = 8};
  CHECK(sized(size, three, {connected, connected, lost}, true).slots_missing == 2);
  CHECK(sized(size, three, {connected, connected, lost}).plan.world_size == 6);
}

TEST_CASE("sized_plan: a number of hosts, as --nnodes MIN:MAX") {
  const JobSize size = {.hosts_min = 2, .hosts_max = 2};
  const NextPlan next = sized(size, three, {connected, connected, connected});
  CHECK(next.plan.world_size == 6);
  CHECK(next.is_full);
  CHECK(names(hosts_of(next.plan)) == Names{"a", "b", "c"});
  CHECK(sized(size, three, {connected, lost, lost}).slots_missing > 0);
}

TEST_CASE("sized_plan: only the ranked role changes its size") {
  RunConfig config;
  config.restarts.size = JobSize{.ranks_min = 1};
  Plan last;
  last.roles = {{.name = "worker", .count = 3}, {.name = "ps", .count = 2, .ranked = false}};
  for (const Host& host : three)
    last.hosts.push_back({.host = host});
  const NextPlan next =
      sized_plan(last, {}, {connected, connected, lost}, {.config = config}).value();
  CHECK(next.plan.world_size == 4);
  CHECK(next.plan.tasks.size() == 6);
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
