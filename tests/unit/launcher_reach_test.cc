#include "launcher/reach.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

Address at(const std::string& ip) {
  return {ip, 7};
}

/// Hosts a, b, c: each with a network of its own name that nobody else sees, and a common one.
const std::vector<Probed> three = {{"a", {at("172.17.0.1"), at("10.0.0.1")}},
                                   {"b", {at("172.17.0.1"), at("10.0.0.2")}},
                                   {"c", {at("10.0.0.3")}}};
const Probed launcher = {"launcher", {at("192.168.1.1"), at("10.0.0.9")}};

std::vector<ProbeCalls::Reached> all_reach_the_common_network() {
  std::vector<ProbeCalls::Reached> reached(3);
  for (uint32_t caller = 0; caller < 3; ++caller) {
    reached[caller].push_back({launcher_number, {at("10.0.0.9")}});
    for (uint32_t target = 0; target < 3; ++target) {
      if (target != caller) reached[caller].push_back({target, {three[target].addresses.back()}});
    }
  }
  return reached;
}

TEST_CASE("each machine gets the first address by which everybody reached it") {
  const auto reach = choose_addresses(launcher, three, all_reach_the_common_network());
  REQUIRE(reach);
  CHECK(*reach == Reach{.launcher = "10.0.0.9",
                        .hosts = {"10.0.0.1", "10.0.0.2", "10.0.0.3"},
                        .warnings = {}});
}

TEST_CASE("a host that some cannot reach is named with them") {
  auto reached = all_reach_the_common_network();
  reached[2][2].addresses.clear();  // c did not reach b
  const auto reach = choose_addresses(launcher, three, reached);
  REQUIRE(reach);
  CHECK(reach->hosts[1] == "10.0.0.2");
  CHECK(reach->warnings ==
        std::vector<std::string>{
            "c cannot reach b at 172.17.0.1, 10.0.0.2; their tasks cannot talk directly"});
}

TEST_CASE("a host that cannot reach the launcher ends the job before it begins") {
  auto reached = all_reach_the_common_network();
  reached[1][0].addresses.clear();
  const auto reach = choose_addresses(launcher, three, reached);
  REQUIRE_FALSE(reach);
  CHECK(reach.error().code == Errc::unreachable);
  CHECK(reach.error().message ==
        "b: cannot reach this machine at 192.168.1.1, 10.0.0.9; is there a firewall?");
}

TEST_CASE("a host that nobody dialled keeps its best address") {
  const auto reach =
      choose_addresses(launcher, {three[2]}, {{{launcher_number, {at("10.0.0.9")}}}});
  REQUIRE(reach);
  CHECK(reach->hosts == std::vector<std::string>{"10.0.0.3"});
}

TEST_CASE("few hosts dial all others, many a part, and everybody is dialled") {
  CHECK(probe_targets(0, 1) == std::vector<uint32_t>{launcher_number});
  CHECK(probe_targets(1, 3) == std::vector<uint32_t>{launcher_number, 2, 0});
  CHECK(probe_targets(0, 32).size() == 32);
  std::vector<int> dialled(1000);
  for (uint32_t agent = 0; agent < 1000; ++agent) {
    const std::vector<uint32_t> targets = probe_targets(agent, 1000);
    CHECK(targets.size() == 17);
    for (const uint32_t target : targets) {
      CHECK(target != agent);
      if (target != launcher_number) ++dialled[target];
    }
  }
  CHECK(dialled == std::vector<int>(1000, 16));
}

}  // namespace
}  // namespace dt
