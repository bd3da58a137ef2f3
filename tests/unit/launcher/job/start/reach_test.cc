#include "launcher/job/start/reach.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

Address at(const std::string& ip) {
  return {ip, 7};
}

ProbeEndpoint place(const std::string& interface, const std::string& ip) {
  return {at(ip), interface};
}

/// Hosts a, b, c with a common network. Two also have a container network that no other host sees.
const std::vector<Probed> three = {
    {"a", {place("docker0", "172.17.0.1"), place("eth0", "10.0.0.1")}},
    {"b", {place("docker0", "172.17.0.1"), place("ens5", "10.0.0.2")}},
    {"c", {place("eth0", "10.0.0.3")}}};
const Probed launcher = {"launcher", {place("wlan0", "192.168.1.1"), place("eth0", "10.0.0.9")}};

std::vector<ProbeDialer::Reached> all_reach_the_common_network() {
  std::vector<ProbeDialer::Reached> reached(3);
  for (uint32_t caller = 0; caller < 3; ++caller) {
    reached[caller].push_back({launcher_number, {at("10.0.0.9")}});
    for (uint32_t target = 0; target < 3; ++target) {
      if (target != caller) {
        reached[caller].push_back({target, {three[target].endpoints.back().address}});
      }
    }
  }
  return reached;
}

TEST_CASE("each machine gets the first address by which every caller reached it") {
  CHECK(choose_addresses(launcher, three, all_reach_the_common_network()) ==
        Reach{.launcher = "10.0.0.9",
              .hosts = {{.ips = {"10.0.0.1"}, .interface = "eth0"},
                        {.ips = {"10.0.0.2"}, .interface = "ens5"},
                        {.ips = {"10.0.0.3"}, .interface = "eth0"}},
              .warnings = {}});
}

TEST_CASE("a warning names a host and the callers that cannot reach it") {
  auto reached = all_reach_the_common_network();
  reached[2][2].addresses.clear();  // c did not reach b
  reached[1][2].addresses.clear();  // nor b c
  const Reach reach = choose_addresses(launcher, three, reached);
  CHECK(reach.hosts[1] ==
        HostReach{.ips = {"10.0.0.2"}, .interface = "ens5", .relay = false, .cut_off = {2}});
  CHECK(reach.hosts[2].cut_off == std::vector<int32_t>{1});
  CHECK(reach.warnings ==
        std::vector<std::string>{
            "c cannot reach b at 172.17.0.1, 10.0.0.2; their tasks cannot talk directly",
            "b cannot reach c at 10.0.0.3; their tasks cannot talk directly"});
}

TEST_CASE("a warning names a host that can only dial out, and its callers") {
  auto reached = all_reach_the_common_network();
  reached[1][1].addresses.clear();  // b did not reach a
  const Reach reach = choose_addresses(launcher, three, reached);
  CHECK(reach.hosts[0].cut_off == std::vector<int32_t>{1});
  CHECK(reach.warnings ==
        std::vector<std::string>{
            "b cannot reach a at 172.17.0.1, 10.0.0.1, but can be reached from there; that is "
            "enough for dtrain's engine, not for every program"});
}

TEST_CASE("a host that no caller reaches has no proved interface") {
  auto reached = all_reach_the_common_network();
  reached[0][2].addresses.clear();
  reached[1][2].addresses.clear();
  const Reach reach = choose_addresses(launcher, three, reached);
  CHECK(reach.hosts[2] ==
        HostReach{.ips = {"10.0.0.3"}, .interface = "", .relay = false, .cut_off = {0, 1}});
}

TEST_CASE("a pair that needs another address gets it beside the common one") {
  // A ring of cables without a switch: each two hosts share a network of their own.
  const std::vector<Probed> ring = {{"a", {place("p0", "10.1.0.1"), place("p1", "10.3.0.1")}},
                                    {"b", {place("p0", "10.1.0.2"), place("p1", "10.2.0.2")}},
                                    {"c", {place("p0", "10.2.0.3"), place("p1", "10.3.0.3")}}};
  const std::vector<ProbeDialer::Reached> reached = {
      {{launcher_number, {at("10.0.0.9")}}, {1, {at("10.1.0.2")}}, {2, {at("10.3.0.3")}}},
      {{launcher_number, {at("10.0.0.9")}}, {2, {at("10.2.0.3")}}, {0, {at("10.1.0.1")}}},
      {{launcher_number, {at("10.0.0.9")}}, {0, {at("10.3.0.1")}}, {1, {at("10.2.0.2")}}}};
  const Reach reach = choose_addresses(launcher, ring, reached);
  CHECK(reach.hosts[0].ips == std::vector<std::string>{"10.1.0.1", "10.3.0.1"});
  CHECK(reach.hosts[1].ips == std::vector<std::string>{"10.1.0.2", "10.2.0.2"});
  CHECK(reach.hosts[2].ips == std::vector<std::string>{"10.2.0.3", "10.3.0.3"});
  REQUIRE(reach.warnings.size() == 3);
  CHECK(reach.warnings[0] ==
        "c can reach a only at 10.3.0.1, others at 10.1.0.1; dtrain's engine uses both, but "
        "programs that get one address a host (TF_CONFIG, MASTER_ADDR) use 10.1.0.1");
}

TEST_CASE("hosts that cannot reach the launcher get a relay, the others need none") {
  auto reached = all_reach_the_common_network();
  reached[1][0].addresses.clear();
  const Reach reach = choose_addresses(launcher, three, reached);
  CHECK(reach.launcher == "10.0.0.9");
  CHECK_FALSE(reach.hosts[0].relay);
  CHECK(reach.hosts[1].relay);
  CHECK(reach.warnings.empty());
}

TEST_CASE("a launcher that no host reaches listens on loopback alone") {
  auto reached = all_reach_the_common_network();
  for (auto& of_host : reached)
    of_host[0].addresses.clear();
  const Reach reach = choose_addresses(launcher, three, reached);
  CHECK(reach.launcher == "127.0.0.1");
  for (const HostReach& host : reach.hosts)
    CHECK(host.relay);
  // The same for a launcher without an address in the allowed networks.
  CHECK(choose_addresses({"launcher", {}}, three, reached).launcher == "127.0.0.1");
}

TEST_CASE("a single host keeps its best address, and its interface stays unknown") {
  const Reach reach =
      choose_addresses(launcher, {three[2]}, {{{launcher_number, {at("10.0.0.9")}}}});
  CHECK(reach.hosts == std::vector<HostReach>{{.ips = {"10.0.0.3"}, .interface = ""}});
}

TEST_CASE("few hosts dial all others, many hosts a part, and every host is dialed") {
  CHECK(probe_targets(0, 1) == std::vector<uint32_t>{launcher_number});
  CHECK(probe_targets(1, 3) == std::vector<uint32_t>{launcher_number, 2, 0});
  CHECK(probe_targets(0, 32).size() == 32);
  std::vector<int> dialed(1000);
  for (uint32_t agent = 0; agent < 1000; ++agent) {
    const std::vector<uint32_t> targets = probe_targets(agent, 1000);
    CHECK(targets.size() == 17);
    for (const uint32_t target : targets) {
      CHECK(target != agent);
      if (target != launcher_number) ++dialed[target];
    }
  }
  CHECK(dialed == std::vector<int>(1000, 16));
}

ProbeTarget target_at(uint32_t number, const std::vector<std::string>& ips) {
  ProbeTarget target = {.number = number, .addresses = {}};
  for (const std::string& ip : ips)
    target.addresses.push_back({ip, 7});
  return target;
}

TEST_CASE("one round is enough where every caller reached the first address, or no caller did") {
  const std::vector<Probe> orders = {{.targets = {target_at(1, {"10.0.0.2", "10.1.0.2"})}},
                                     {.targets = {target_at(0, {"10.0.0.1", "10.1.0.1"})}}};
  CHECK(
      further_orders(orders, {{target_at(1, {"10.0.0.2"})}, {target_at(0, {"10.1.0.1"})}}).empty());
  CHECK(further_orders(orders, {{target_at(1, {})}, {target_at(0, {"10.0.0.1"})}}).empty());
}

TEST_CASE("where one caller missed the first address, the others dial the rest in a second round") {
  const ProbeTarget third = target_at(2, {"10.0.0.3", "10.1.0.3", "10.2.0.3"});
  const ProbeTarget single = target_at(3, {"10.0.0.4"});
  const std::vector<Probe> orders = {
      {.targets = {third, single}}, {.targets = {third}}, {.targets = {single}}, {.targets = {}}};
  std::vector<ProbeDialer::Reached> reached = {
      {target_at(2, {"10.0.0.3"}), single}, {target_at(2, {"10.1.0.3"})}, {target_at(3, {})}, {}};
  const std::vector<Probe> further = further_orders(orders, reached);
  REQUIRE(further.size() == 4);
  CHECK(further[0].targets == std::vector{target_at(2, {"10.1.0.3", "10.2.0.3"})});
  CHECK(further[0].head_start == Duration::zero());
  for (const size_t other : {1, 2, 3})
    CHECK(further[other].targets.empty());

  // A slow first answer may have been overtaken: then the caller had dialed the rest already.
  reached[0][0] = target_at(2, {"10.0.0.3", "10.1.0.3"});
  add_reached(reached, {{{target_at(2, {"10.1.0.3", "10.2.0.3"})}}, {}, {}, {}});
  CHECK(reached[0][0] == target_at(2, {"10.0.0.3", "10.1.0.3", "10.2.0.3"}));
  CHECK(reached[1][0] == target_at(2, {"10.1.0.3"}));
}

TEST_CASE("tasks dial from the addresses of their hosts, and from loopback on one machine alone") {
  const Plan local = make_plan({.hosts = {{.name = "here", .slots = 2, .here = true}}}).value();
  const Reach at_home = {.launcher = "127.0.0.1", .hosts = {}, .warnings = {}};
  CHECK(task_sources(local, at_home, {Hello{}}) == AddressSet({"127.0.0.1"}));

  const Plan plan = make_plan({.hosts = {{.name = "here", .slots = 1, .here = true},
                                         {.name = "a", .slots = 1},
                                         {.name = "b", .slots = 1}}})
                        .value();
  std::vector<Hello> hellos(3);
  hellos[1].addresses = {
      {"eth0", "10.0.0.2"}, {"eth0", "fd00::2"}, {"lo", "127.0.0.1"}, {"lo", "::1"}};
  hellos[2].addresses = {{"eth1", "10.0.0.3"}, {"lo", "127.0.0.2"}};
  const Reach reach = {.launcher = "10.0.0.9", .hosts = {}, .warnings = {}};
  CHECK(task_sources(plan, reach, hellos) ==
        AddressSet({"10.0.0.9", "10.0.0.2", "fd00::2", "10.0.0.3"}));
}

Hello hello_of(const std::string& boot, uint64_t network_namespace) {
  return {.build = {},
          .hostname = {},
          .addresses = {},
          .machine = {.boot = boot, .network_namespace = network_namespace}};
}

TEST_CASE("shared_machines: several names of one machine are one warning") {
  CHECK(shared_machines({"a", "b"}, {hello_of("x", 1), hello_of("y", 1)}).empty());
  // Containers of one machine with networks of their own, and agents without a machine id.
  CHECK(shared_machines({"a", "b"}, {hello_of("x", 1), hello_of("x", 2)}).empty());
  CHECK(shared_machines({"a", "b"}, {hello_of("", 0), hello_of("", 0)}).empty());
  CHECK(shared_machines({"a", "b", "c"}, {hello_of("x", 1), hello_of("y", 1), hello_of("x", 1)}) ==
        std::vector<std::string>{"a, c are one machine under several names (same boot, same "
                                 "network); each counts as a host of its own"});
}

TEST_CASE("needs_probe: several hosts, another host, or a network that the user named") {
  Plan plan;
  plan.hosts = {{.host = {.name = "localhost", .here = true}}};
  CHECK_FALSE(needs_probe(plan, {}));
  CHECK(needs_probe(plan, {"eth0"}));
  plan.hosts[0].host.here = false;
  CHECK(needs_probe(plan, {}));
  plan.hosts = {{.host = {.name = "localhost", .here = true}}, {.host = {.name = "a"}}};
  CHECK(needs_probe(plan, {}));
}

TEST_CASE("reach_of_plan: the addresses of a probe by the numbers of a later plan") {
  const ProbedHosts probed = {
      .reach = {.launcher = "10.0.0.9",
                .hosts = {{.ips = {"10.0.0.1"}, .interface = "eth0", .cut_off = {1, 2}},
                          {.ips = {"10.0.0.2"}, .interface = "eth0"},
                          {.ips = {"10.0.0.3"}, .interface = "eth1", .relay = true}},
                .warnings = {"one"}},
      .hosts = {{.name = "a"}, {.name = "b"}, {.name = "c"}}};
  Plan plan;
  plan.hosts = {{.host = {.name = "c"}}, {.host = {.name = "a"}}};
  CHECK(reach_of_plan(probed, plan) ==
        Reach{.launcher = "10.0.0.9",
              .hosts = {{.ips = {"10.0.0.3"}, .interface = "eth1", .relay = true},
                        {.ips = {"10.0.0.1"}, .interface = "eth0", .cut_off = {0}}},
              .warnings = {}});
}

}  // namespace
}  // namespace dt
