#include "launcher/plan/plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace dt {
namespace {

/// Tasks on each host, as "a:2 b:1".
std::string blocks(const Result<Plan>& plan) {
  if (!plan) return plan.error().message;
  std::string all;
  for (const PlannedHost& planned : plan->hosts) {
    all +=
        (all.empty() ? "" : " ") + planned.host.name + ":" + std::to_string(planned.task_count());
  }
  return all;
}

const std::vector<Host> two_hosts = {{.name = "a", .slots = 4}, {.name = "b", .slots = 4}};

TEST_CASE("ranks fill one host before the next, in the order given") {
  const Plan plan = make_plan({.hosts = {{.name = "b", .slots = 2}, {.name = "a", .slots = 3}},
                               .roles = workers(4)})
                        .value();
  CHECK(blocks(plan) == "b:2 a:2");
  CHECK(plan.world_size == 4);
  const int expected[4][5] = {// local_rank, cross_rank, cross_size, agent, local_size
                              {0, 0, 2, 0, 2},
                              {1, 0, 2, 0, 2},
                              {0, 1, 2, 1, 2},
                              {1, 1, 2, 1, 2}};
  for (size_t rank = 0; rank < 4; ++rank) {
    CAPTURE(rank);
    const Task& task = plan.tasks[rank];
    CHECK(task.id.text() == "worker:" + std::to_string(rank));
    CHECK(task.rank == static_cast<int>(rank));
    CHECK(task.local_rank == expected[rank][0]);
    CHECK(task.cross_rank == expected[rank][1]);
    CHECK(task.cross_size == expected[rank][2]);
    CHECK(task.agent == expected[rank][3]);
    CHECK(plan.local_size(task) == expected[rank][4]);
  }
}

TEST_CASE("make_plan: too few slots for a size that follows the hosts") {
  const JobSize size = {.ranks_min = 2, .ranks_first = 9};
  CHECK(blocks(make_plan({.hosts = two_hosts, .size = size})) ==
        "8 of 9 slots are there (a:4 b:4); the job waits for the others");
  CHECK(blocks(make_plan({.hosts = {}, .size = size})) ==
        "0 of 9 slots are there (no host); the job waits for the others");
  CHECK(blocks(make_plan({.hosts = two_hosts, .size = size, .is_first = false})) == "a:4 b:4");
}

TEST_CASE("cross_rank counts only the hosts that have this local rank") {
  const Plan plan = make_plan({.hosts = {{.name = "a", .slots = 1},
                                         {.name = "b", .slots = 3},
                                         {.name = "c", .slots = 2}}})
                        .value();
  const int cross[6][2] = {{0, 3}, {1, 3}, {0, 2}, {0, 1}, {2, 3}, {1, 2}};
  for (size_t rank = 0; rank < 6; ++rank) {
    CAPTURE(rank);
    CHECK(plan.tasks[rank].cross_rank == cross[rank][0]);
    CHECK(plan.tasks[rank].cross_size == cross[rank][1]);
  }
}

TEST_CASE("without -np a job has as many processes as slots, and idle hosts are left out") {
  CHECK(blocks(make_plan({.hosts = two_hosts})) == "a:4 b:4");
  CHECK(blocks(make_plan({.hosts = two_hosts, .roles = workers(4)})) == "a:4");
  CHECK(blocks(make_plan({.hosts = two_hosts, .roles = workers(5)})) == "a:4 b:1");
}

/// The host and local rank of each rank, as "a0 a1 b0".
std::string places(const Result<Plan>& plan) {
  if (!plan) return plan.error().message;
  std::string all;
  for (const Task& task : plan->tasks) {
    all += (all.empty() ? "" : " ") + plan->hosts[static_cast<size_t>(task.agent)].host.name +
           std::to_string(task.local_rank);
  }
  return all;
}

TEST_CASE("--map-by assigns processes to hosts, --rank-by ranks to processes") {
  struct Case {
    int count;
    MapBy map_by;
    MapBy rank_by;
    const char* expected;
  };
  using enum MapBy;
  const std::vector<Host> hosts = {{.name = "a", .slots = 1},
                                   {.name = "b", .slots = 3},
                                   {.name = "c", .slots = 2, .max_slots = 2}};
  const Case cases[] = {
      {6, slot, slot, "a0 b0 b1 b2 c0 c1"},
      {6, node, slot, "a0 b0 b1 b2 c0 c1"},
      {6, slot, node, "a0 b0 c0 b1 c1 b2"},
      {6, node, node, "a0 b0 c0 b1 c1 b2"},
      {4, slot, slot, "a0 b0 b1 b2"},
      {4, node, slot, "a0 b0 b1 c0"},
      {4, slot, node, "a0 b0 b1 b2"},
      {4, node, node, "a0 b0 c0 b1"},
      {2, slot, slot, "a0 b0"},
      {2, node, node, "a0 b0"},
      {1, node, node, "a0"},
      // More processes than slots: the shares are by slots in any order.
      {12, slot, slot, "a0 a1 a2 b0 b1 b2 b3 b4 b5 b6 c0 c1"},
      {12, node, slot, "a0 a1 a2 b0 b1 b2 b3 b4 b5 b6 c0 c1"},
      {12, node, node, "a0 b0 c0 a1 b1 c1 a2 b2 b3 b4 b5 b6"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.count);
    CAPTURE(c.expected);
    CHECK(places(make_plan({.hosts = hosts,
                            .roles = workers(c.count),
                            .oversubscribe = true,
                            .map_by = c.map_by,
                            .rank_by = c.rank_by})) == c.expected);
  }
}

TEST_CASE("ranks assigned to hosts in turn: cross_rank is still the index among the hosts") {
  const Plan plan = make_plan({.hosts = {{.name = "a", .slots = 1},
                                         {.name = "b", .slots = 3},
                                         {.name = "c", .slots = 2}},
                               .rank_by = MapBy::node})
                        .value();
  REQUIRE(places(plan) == "a0 b0 c0 b1 c1 b2");
  const int cross[6][2] = {{0, 3}, {1, 3}, {2, 3}, {0, 2}, {1, 2}, {0, 1}};
  for (size_t rank = 0; rank < 6; ++rank) {
    CAPTURE(rank);
    CHECK(plan.tasks[rank].cross_rank == cross[rank][0]);
    CHECK(plan.tasks[rank].cross_size == cross[rank][1]);
  }
}

TEST_CASE("a host gets max_slots at most, and the others get the rest of its share") {
  const std::vector<Host> hosts = {{.name = "a", .slots = 2, .max_slots = 3},
                                   {.name = "b", .slots = 2},
                                   {.name = "c", .slots = 2, .max_slots = 2}};
  const auto blocks_for = [&](int count) {
    return blocks(make_plan({.hosts = hosts, .roles = workers(count), .oversubscribe = true}));
  };
  CHECK(blocks_for(6) == "a:2 b:2 c:2");
  CHECK(blocks_for(7) == "a:3 b:2 c:2");
  CHECK(blocks_for(9) == "a:3 b:4 c:2");
  CHECK(blocks_for(20) == "a:3 b:15 c:2");
  const std::vector<Host> limited = {hosts[0], hosts[2]};
  CHECK(blocks(make_plan({.hosts = limited, .roles = workers(5), .oversubscribe = true})) ==
        "a:3 c:2");
  CHECK(blocks(make_plan({.hosts = limited, .roles = workers(6), .oversubscribe = true})) ==
        "asked for 6 processes but max_slots of the hosts (a:2 c:2) allows 5; use -np 5");
}

TEST_CASE("B12, B13: an impossible process count is refused with a possible one") {
  CHECK(blocks(make_plan({.hosts = two_hosts, .roles = workers(16)})) ==
        "asked for 16 processes but hosts offer 8 (a:4 b:4); use -np 8 or --oversubscribe");
  CHECK(
      blocks(make_plan({.hosts = two_hosts, .roles = workers(9), .allocation = "Slurm job 21"})) ==
      "asked for 9 processes but Slurm job 21 offers 8 (a:4 b:4); use -np 8 or --oversubscribe");
  CHECK(blocks(make_plan({.hosts = two_hosts, .roles = workers(65537), .oversubscribe = true})) ==
        "-np: expected 1..65536, got 65537");
  const std::vector<Host> many(17, {.name = "n", .slots = 4096});
  CHECK(blocks(make_plan({.hosts = many})) ==
        "-np: expected 1..65536, got 69632 (the sum of all slots)");
  const std::vector<Host> ten(10, {.name = "n", .slots = 1});
  CHECK(blocks(make_plan({.hosts = ten, .roles = workers(11)})) ==
        "asked for 11 processes but hosts offer 10 (n:1 n:1 n:1 n:1 n:1 n:1 n:1 n:1 and 2 more); "
        "use -np 10 or --oversubscribe");
}

TEST_CASE("--oversubscribe spreads the processes in proportion to slots, the first named first") {
  struct Case {
    std::vector<int> slots;
    int count;
    const char* expected;
  };
  const Case cases[] = {
      {{4, 4}, 16, "a:8 b:8"}, {{4, 4}, 17, "a:9 b:8"},       {{4, 2}, 12, "a:8 b:4"},
      {{1}, 7, "a:7"},         {{1, 1, 1}, 5, "a:2 b:2 c:1"}, {{4, 1}, 6, "a:5 b:1"},
      {{1, 4}, 6, "a:1 b:5"},  {{4, 4}, 8, "a:4 b:4"},        {{4, 4}, 5, "a:4 b:1"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.expected);
    std::vector<Host> hosts(c.slots.size());
    for (size_t i = 0; i < hosts.size(); ++i) {
      hosts[i] = {.name = std::string(1, static_cast<char>('a' + i)), .slots = c.slots[i]};
    }
    CHECK(blocks(make_plan({.hosts = hosts, .roles = workers(c.count), .oversubscribe = true})) ==
          c.expected);
  }
}

TEST_CASE("rank_digits is the width of the highest rank") {
  const std::pair<int, int> cases[] = {{1, 1}, {10, 1}, {11, 2}, {100, 2}, {101, 3}, {65536, 5}};
  for (const auto& [size, digits] : cases) {
    CAPTURE(size);
    CHECK(Plan{.hosts = {}, .tasks = {}, .world_size = size}.rank_digits() == digits);
  }
}

/// The tasks of one host, in the order of their ranks.
void check_host(const Plan& plan, int agent) {
  const PlannedHost& host = plan.hosts[static_cast<size_t>(agent)];
  REQUIRE(host.task_count() > 0);
  CHECK(std::ranges::is_sorted(host.tasks));
  for (int i = 0; i < host.task_count(); ++i) {
    const Task& task = plan.tasks[host.tasks[static_cast<size_t>(i)]];
    CHECK(task.agent == agent);
    CHECK(task.local_rank == i);
    CHECK(task.local_index == static_cast<uint32_t>(i));
  }
}

/// Each task is in its host's list, and in no other.
void check_hosts(const Plan& plan) {
  int tasks = 0;
  for (size_t agent = 0; agent < plan.hosts.size(); ++agent) {
    check_host(plan, static_cast<int>(agent));
    tasks += plan.hosts[agent].task_count();
  }
  CHECK(tasks == plan.world_size);
}

void check_cross(const Plan& plan) {
  std::map<int, std::set<int>> ranks;  // cross ranks seen, by local rank
  for (const Task& task : plan.tasks)
    CHECK(ranks[task.local_rank].insert(task.cross_rank).second);
  for (const Task& task : plan.tasks) {
    // libdtrain computes it in the same way: it counts the earlier hosts with this local rank.
    const auto before = std::ranges::count_if(
        plan.hosts.begin(), plan.hosts.begin() + task.agent,
        [&](const PlannedHost& host) { return host.task_count() > task.local_rank; });
    CHECK(task.cross_rank == before);
    const std::set<int>& seen = ranks[task.local_rank];
    CHECK(static_cast<int>(seen.size()) == task.cross_size);
    CHECK(*seen.begin() == 0);
    CHECK(*seen.rbegin() == task.cross_size - 1);
  }
}

/// "0=chief:0@a 1=worker:0@a ps:0@b": the tasks in the plan's order, with ranks and hosts.
std::string placement_text(const Result<Plan>& plan) {
  if (!plan) return plan.error().message;
  std::string all;
  for (const Task& task : plan->tasks) {
    all += (all.empty() ? "" : " ") + (task.rank < 0 ? "" : std::to_string(task.rank) + "=") +
           task.id.text() + "@" + plan->hosts[static_cast<size_t>(task.agent)].host.name;
  }
  return all;
}

Role unranked(const char* name, int count, std::vector<Host> hosts = {}) {
  return {.name = name, .count = count, .hosts = std::move(hosts), .ranked = false};
}

TEST_CASE("ranks go to the chief, the workers and other ranked roles, in this order") {
  const Role chief{.name = "chief", .count = 1};
  const Role client{.name = "client", .count = 1};
  const Role worker{.name = "worker", .count = 2};
  const Plan plan = make_plan({.hosts = {{.name = "a", .slots = 3}, {.name = "b", .slots = 3}},
                               .roles = {unranked("ps", 2), client, worker, chief}})
                        .value();
  CHECK(placement_text(plan) == "0=chief:0@a 1=worker:0@a 2=worker:1@a 3=client:0@b ps:0@b ps:1@b");
  CHECK(plan.world_size == 4);
  CHECK(plan.local_size(plan.tasks[0]) == 3);
  CHECK(plan.local_size(plan.tasks[3]) == 1);
  CHECK(plan.hosts[1].task_count() == 3);
  CHECK(plan.tasks[3].cross_rank == 1);
  CHECK(plan.tasks[3].cross_size == 2);
  for (const size_t ps : {4, 5}) {
    CHECK(plan.tasks[ps].local_rank == -1);
    CHECK(plan.tasks[ps].cross_rank == -1);
    CHECK(plan.tasks[ps].local_index == ps - 3);
  }
}

TEST_CASE("a role with hosts runs on those alone, and the others share what is left") {
  const std::vector<Host> hosts = {{.name = "a", .slots = 2}, {.name = "b", .slots = 2}};
  const Host a{.name = "a"};
  const Host b{.name = "b"};
  const auto seated = [&hosts](std::vector<Role> roles, bool oversubscribe = false) {
    return placement_text(
        make_plan({.hosts = hosts, .roles = std::move(roles), .oversubscribe = oversubscribe}));
  };
  const Role worker{.name = "worker", .count = 3};
  CHECK(seated({worker, unranked("ps", 1, {a})}) ==
        "0=worker:0@a 1=worker:1@b 2=worker:2@b ps:0@a");
  CHECK(seated({{.name = "worker", .count = 2, .hosts = {a, b}}, unranked("ps", 2, {a})}) ==
        "0=worker:0@b 1=worker:1@b ps:0@a ps:1@a");
  CHECK(seated({{.name = "worker", .count = 2, .hosts = {{.name = "a", .slots = 1}, b}}}) ==
        "0=worker:0@a 1=worker:1@b");
  CHECK(seated({{.name = "worker", .count = 1, .hosts = {b}}}) == "0=worker:0@b");
  CHECK(seated({worker, unranked("ps", 2)}) ==
        "asked for 5 processes (worker=3, ps=2) but hosts offer 4 (a:2 b:2); use fewer or "
        "--oversubscribe");
  CHECK(seated({{.name = "worker", .count = 1}, unranked("ps", 3, {a})}) ==
        "role ps: asked for 3 processes but its hosts (a) have room for 2; use fewer, or more "
        "hosts, or --oversubscribe");
  CHECK(seated({{.name = "worker", .count = 2}, unranked("ps", 3, {a})}, true) ==
        "0=worker:0@b 1=worker:1@b ps:0@a ps:1@a ps:2@a");
  CHECK(seated({{.name = "worker", .count = 5}, unranked("ps", 3, {a})}, true) ==
        "0=worker:0@a 1=worker:1@b 2=worker:2@b 3=worker:3@b 4=worker:4@b ps:0@a ps:1@a ps:2@a");
}

TEST_CASE("any plan places every rank once, within slots, with dense local and cross ranks") {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp,bugprone-random-generator-seed): reproducible
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    PlanRequest request{.hosts = {}, .oversubscribe = true};
    request.map_by = random() % 2 == 0 ? MapBy::slot : MapBy::node;
    request.rank_by = random() % 2 == 0 ? MapBy::slot : MapBy::node;
    int slots = 0;
    for (size_t i = 0; i < 1 + random() % 12; ++i) {
      request.hosts.push_back({.name = "n" + std::to_string(i), .slots = 1 + int(random() % 9)});
      slots += request.hosts.back().slots;
    }
    const int count = 1 + static_cast<int>(random() % 150);
    request.roles = workers(count);
    const Plan plan = make_plan(request).value();
    REQUIRE(static_cast<int>(plan.tasks.size()) == count);
    for (size_t i = 0; i < plan.tasks.size(); ++i) {
      CHECK(plan.tasks[i].rank == static_cast<int>(i));
      CHECK(plan.tasks[i].id.index == static_cast<int>(i));
    }
    check_hosts(plan);
    check_cross(plan);
    for (const PlannedHost& host : plan.hosts) {
      if (count <= slots) CHECK(host.task_count() <= host.host.slots);
      if (count > slots) CHECK(host.task_count() >= host.host.slots);
    }
  }
}

}  // namespace
}  // namespace dt
