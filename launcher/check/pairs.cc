#include "launcher/check/pairs.h"

#include "base/format.h"
#include "base/io/network.h"
#include "base/text.h"
#include "launcher/check/units.h"

#include <algorithm>
#include <chrono>

namespace dt {

namespace {

/// Hosts in one room have well below 1 ms. An all_reduce of small tensors in a ring of n hosts
/// takes about n round trips.
constexpr Duration round_trip_max = milliseconds(5);
/// A little less than gigabit Ethernet. A slower link has fallen back to 100 Mbit/s, or is shared.
constexpr double bytes_per_s_min = 90e6;

double rate_of(const Speed& speed) {
  return static_cast<double>(speed.bytes) / std::chrono::duration<double>(speed.elapsed).count();
}

/// A loopback address leads to no other host, so it is left out.
std::string texts_of(const std::vector<Address>& addresses) {
  std::vector<std::string> ips;
  for (const Address& address : addresses) {
    if (!is_loopback(address.ip)) ips.push_back(printable(address.ip));
  }
  return ips.empty() ? "any address" : join(ips, ", ");
}

/// Each host with each other, by the circle method: one host keeps its position while the others
/// rotate. With an odd number one host has nothing to do in each round.
std::vector<std::vector<Pair>> all_pairs(size_t hosts) {
  const size_t positions = hosts + hosts % 2;
  std::vector<std::vector<Pair>> rounds;
  for (size_t round = 0; round + 1 < positions; ++round) {
    const auto at = [&](size_t position) {
      return position == 0 ? 0 : 1 + (position - 1 + round) % (positions - 1);
    };
    std::vector<Pair> pairs;
    for (size_t position = 0; position < positions / 2; ++position) {
      const auto [low, high] = std::minmax({at(position), at(positions - 1 - position)});
      if (high < hosts) pairs.emplace_back(low, high);
    }
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

/// Each host with the next. The last pair of an odd ring has a round of its own.
std::vector<std::vector<Pair>> ring(size_t hosts) {
  std::vector<std::vector<Pair>> rounds(2 + hosts % 2);
  for (size_t host = 0; host < hosts; ++host) {
    const bool leftover = hosts % 2 == 1 && host + 1 == hosts;
    rounds[leftover ? 2 : host % 2].emplace_back(host, (host + 1) % hosts);
  }
  return rounds;
}

}  // namespace

std::vector<std::vector<Pair>> measuring_rounds(size_t hosts) {
  if (hosts < 2) return {};
  return hosts <= measured_hosts_max ? all_pairs(hosts) : ring(hosts);
}

PairReport pair_report(const PairSeen& seen) {
  PairReport report = {.from = seen.from, .to = seen.to, .address = {}, .speed = seen.speed};
  if (seen.reached.empty()) {
    report.grade = Grade::failure;
    report.text = format("{} cannot reach {} at {}", seen.from, seen.to, texts_of(seen.tried));
    report.remedy = format(
        "a firewall must let TCP connections from {} to {}, to any port or to "
        "those of --port-range",
        seen.from, seen.to);
    return report;
  }
  report.address = seen.reached.front().ip;
  if (!seen.failure.empty()) {
    report.grade = Grade::warning;
    report.text = "not measured: " + printable(seen.failure, 200);
  } else if (seen.speed && seen.speed->round_trip > round_trip_max) {
    report.grade = Grade::warning;
    report.text = format("a round trip takes more than {}", time_text(round_trip_max));
    report.remedy = "small tensors will wait for it; are these hosts in one place?";
  } else if (seen.speed && rate_of(*seen.speed) < bytes_per_s_min) {
    report.grade = Grade::warning;
    report.text = format("slower than gigabit Ethernet ({})", rate_text(bytes_per_s_min));
    report.remedy = "try on both: ethtool INTERFACE | grep Speed";
  }
  return report;
}

}  // namespace dt
