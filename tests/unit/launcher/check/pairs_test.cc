#include "launcher/check/pairs.h"

#include "base/format.h"

#include <doctest/doctest.h>

#include <set>

namespace dt {
namespace {

TEST_CASE(
    "up to eight hosts every pair is measured once, in rounds of pairs without a common host") {
  CHECK(measuring_rounds(0).empty());
  CHECK(measuring_rounds(1).empty());
  for (size_t hosts = 2; hosts <= 40; ++hosts) {
    CAPTURE(hosts);
    std::set<Pair> pairs;
    const auto rounds = measuring_rounds(hosts);
    for (const std::vector<Pair>& round : rounds) {
      std::set<size_t> busy;
      for (const Pair& pair : round) {
        CHECK(pair.first < hosts);
        CHECK(pair.second < hosts);
        CHECK(busy.insert(pair.first).second);
        CHECK(busy.insert(pair.second).second);
        CHECK(pairs.insert(std::minmax(pair.first, pair.second)).second);
      }
    }
    const bool all = hosts <= measured_hosts_max;
    CHECK(pairs.size() == (all ? hosts * (hosts - 1) / 2 : hosts));
    CHECK(rounds.size() <= (all ? hosts : 3));
  }
}

TEST_CASE("the grade of a pair is that of the network between its hosts") {
  const std::vector<Address> tried = {{"10.0.0.2", 1}, {"fd00::2", 1}, {"::1", 1}};
  const auto report = [&](std::vector<Address> reached, std::optional<Speed> speed,
                          std::string failure) {
    const PairReport pair = pair_report({.from = "a",
                                         .to = "b",
                                         .tried = tried,
                                         .reached = std::move(reached),
                                         .speed = speed,
                                         .failure = std::move(failure)});
    return format("{} {}|{}|{}", name_of(pair.grade), pair.address, pair.text, pair.remedy);
  };
  const Speed quick = {microseconds(100), 1 << 30, seconds(1)};
  CHECK(report({tried[1]}, quick, "") == "ok fd00::2||");
  CHECK(report({}, {}, "") ==
        "failure |a cannot reach b at 10.0.0.2, fd00::2|a firewall must let TCP connections from a "
        "to b, to any port or to those of --port-range");
  CHECK(report(tried, {}, "it hung up") == "warning 10.0.0.2|not measured: it hung up|");
  CHECK(report(tried, Speed{milliseconds(6), 1 << 30, seconds(1)}, "") ==
        "warning 10.0.0.2|a round trip takes more than 5.00 ms|small tensors will wait for it; are "
        "these hosts in one place?");
  CHECK(
      report(tried, Speed{microseconds(100), 12'000'000, seconds(1)}, "") ==
      "warning 10.0.0.2|slower than gigabit Ethernet (90.0 MB/s)|try on both: ethtool INTERFACE | "
      "grep Speed");
}

}  // namespace
}  // namespace dt
