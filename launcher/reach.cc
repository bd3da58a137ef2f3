#include "launcher/reach.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

constexpr uint32_t all_pairs_max = 32;
constexpr uint32_t sample = 16;
constexpr const char* loopback = "127.0.0.1";

/// Of one machine: its best address, and who cannot use it.
struct Choice {
  std::string ip;
  std::vector<size_t> cut_off;  ///< numbers of agents
};

Choice choose(uint32_t number, const Probed& machine,
              const std::vector<ProbeCalls::Reached>& reached) {
  Choice best;
  for (const Address& address : machine.addresses) {
    std::vector<size_t> cut_off;
    for (size_t caller = 0; caller < reached.size(); ++caller) {
      const auto target = std::ranges::find(reached[caller], number, &ProbeTarget::number);
      if (target == reached[caller].end()) continue;
      if (std::ranges::count(target->addresses, address) == 0) cut_off.push_back(caller);
    }
    if (best.ip.empty() || cut_off.size() < best.cut_off.size()) {
      best = {address.ip, std::move(cut_off)};
    }
  }
  return best;
}

std::string addresses_of(const Probed& machine) {
  std::vector<std::string> ips;
  for (const Address& address : machine.addresses)
    ips.push_back(address.ip);
  return join(ips, ", ");
}

std::string names_of(const std::vector<size_t>& numbers, const std::vector<Probed>& hosts) {
  constexpr size_t names_max = 5;
  std::vector<std::string> names;
  for (const size_t number : numbers) {
    if (names.size() == names_max) break;
    names.push_back(hosts[number].name);
  }
  if (numbers.size() > names_max) names.push_back(format("{} more", numbers.size() - names_max));
  return join(names, ", ");
}

}  // namespace

std::vector<uint32_t> probe_targets(uint32_t agent, uint32_t agent_count) {
  const uint32_t count = agent_count <= all_pairs_max ? agent_count - 1 : sample;
  std::vector<uint32_t> targets = {launcher_number};
  for (uint32_t step = 1; step <= count; ++step)
    targets.push_back((agent + step) % agent_count);
  return targets;
}

Result<Reach> choose_addresses(const Probed& launcher, const std::vector<Probed>& hosts,
                               const std::vector<ProbeCalls::Reached>& reached) {
  Reach reach;
  const Choice own = choose(launcher_number, launcher, reached);
  if (!own.cut_off.empty()) {
    return fail(Errc::unreachable,
                format("{}: cannot reach this machine at {}; is there a firewall?",
                       names_of(own.cut_off, hosts), addresses_of(launcher)));
  }
  reach.launcher = own.ip;
  for (size_t number = 0; number < hosts.size(); ++number) {
    Choice choice = choose(static_cast<uint32_t>(number), hosts[number], reached);
    if (!choice.cut_off.empty()) {
      reach.warnings.push_back(format("{} cannot reach {} at {}; their tasks cannot talk directly",
                                      names_of(choice.cut_off, hosts), hosts[number].name,
                                      addresses_of(hosts[number])));
    }
    reach.hosts.push_back(std::move(choice.ip));
  }
  return reach;
}

bool needs_probe(const Plan& plan) {
  return plan.hosts.size() > 1 || !plan.hosts.front().host.here;
}

Result<Reach> find_reach(Loop& loop, Crew& crew, const Plan& plan,
                         const std::vector<Prepared>& prepared, const ReachTerms& terms) {
  if (!needs_probe(plan)) return Reach{.launcher = loopback, .hosts = {loopback}, .warnings = {}};
  const auto own = TRY(ProbePoint::open(loop, interface_addresses(), terms.token, launcher_number));
  const Probed launcher = {.name = "this machine", .addresses = own->addresses()};
  std::vector<Probed> hosts;
  for (size_t number = 0; number < prepared.size(); ++number)
    hosts.push_back({plan.hosts[number].host.name, prepared[number].probe_points});
  std::vector<Probe> orders(hosts.size());
  for (size_t number = 0; number < hosts.size(); ++number) {
    for (const uint32_t target :
         probe_targets(static_cast<uint32_t>(number), static_cast<uint32_t>(hosts.size()))) {
      const Probed& machine = target == launcher_number ? launcher : hosts[target];
      orders[number].targets.push_back({target, machine.addresses});
    }
  }
  std::vector<ProbeCalls::Reached> reached;
  for (Reached& answer : TRY(crew.probe(orders, terms.awaited)))
    reached.push_back(std::move(answer.targets));
  return choose_addresses(launcher, hosts, reached);
}

}  // namespace dt
