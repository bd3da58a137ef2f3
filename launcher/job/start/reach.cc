#include "launcher/job/start/reach.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/networks.h"
#include "launcher/plan/some_of.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace dt {

namespace {

constexpr uint32_t all_pairs_max = 32;
constexpr uint32_t sample = 16;
constexpr size_t names_max = 5;  ///< in a message
constexpr const char* loopback = "127.0.0.1";
/// Longer than a busy host takes to answer. A target whose best address drops packets delays the
/// launch by this time.
constexpr Duration head_start = milliseconds(200);
constexpr Duration further_patience = milliseconds(500);

/// An address of one machine, and the callers that could not use it.
struct Choice {
  ProbeEndpoint endpoint;
  std::vector<size_t> cut_off;  ///< numbers of agents
};

/// The agents that dialed this machine.
std::vector<size_t> callers_of(uint32_t number, const std::vector<ProbeDialer::Reached>& reached) {
  std::vector<size_t> callers;
  for (size_t caller = 0; caller < reached.size(); ++caller) {
    if (std::ranges::count(reached[caller], number, &ProbeTarget::number) > 0) {
      callers.push_back(caller);
    }
  }
  return callers;
}

bool was_reached(const ProbeDialer::Reached& reached, uint32_t number, const Address& address) {
  const auto target = std::ranges::find(reached, number, &ProbeTarget::number);
  return target != reached.end() && std::ranges::count(target->addresses, address) > 0;
}

/// The first of the addresses that most of these callers reached.
Choice choose(uint32_t number, const std::vector<ProbeEndpoint>& endpoints,
              const std::vector<size_t>& callers,
              const std::vector<ProbeDialer::Reached>& reached) {
  Choice best = {.endpoint = {}, .cut_off = callers};
  for (const ProbeEndpoint& endpoint : endpoints) {
    Choice choice = {.endpoint = endpoint, .cut_off = {}};
    for (const size_t caller : callers) {
      if (!was_reached(reached[caller], number, endpoint.address)) choice.cut_off.push_back(caller);
    }
    const bool better = choice.cut_off.size() < best.cut_off.size();
    if (better || best.endpoint.address.ip.empty()) best = std::move(choice);
  }
  return best;
}

std::string addresses_of(const Probed& machine) {
  std::vector<std::string> ips;
  for (const ProbeEndpoint& endpoint : machine.endpoints)
    ips.push_back(endpoint.address.ip);
  return join(ips, ", ");
}

std::string names_of(const std::vector<size_t>& numbers, const std::vector<Probed>& hosts) {
  std::vector<std::string> names;
  for (const size_t number : numbers)
    names.push_back(hosts[number].name);
  return some_of(names, names_max);
}

/// Warns of hosts that reach none of the addresses of host `number`. It may still reach them.
void warn_of_cut_off(const std::vector<size_t>& left, uint32_t number,
                     const std::vector<Probed>& hosts,
                     const std::vector<ProbeDialer::Reached>& reached,
                     std::vector<std::string>& warnings) {
  std::vector<size_t> one_way;
  std::vector<size_t> no_way;
  for (const size_t caller : left) {
    const auto back = std::ranges::find(reached[number], caller, &ProbeTarget::number);
    const bool leads_back = back != reached[number].end() && !back->addresses.empty();
    (leads_back ? one_way : no_way).push_back(caller);
  }
  const std::string where = format("{} at {}", hosts[number].name, addresses_of(hosts[number]));
  if (!no_way.empty()) {
    warnings.push_back(format("{} cannot reach {}; their tasks cannot talk directly",
                              names_of(no_way, hosts), where));
  }
  if (!one_way.empty()) {
    warnings.push_back(
        format("{} cannot reach {}, but can be reached from there; that is enough "
               "for dtrain's engine, not for every program",
               names_of(one_way, hosts), where));
  }
}

/// The addresses by which the other hosts reach host `number`.
HostReach reach_of(uint32_t number, const std::vector<Probed>& hosts,
                   const std::vector<ProbeDialer::Reached>& reached,
                   std::vector<std::string>& warnings) {
  const Probed& host = hosts[number];
  const std::vector<size_t> callers = callers_of(number, reached);
  Choice choice = choose(number, host.endpoints, callers, reached);
  const bool proved = choice.cut_off.size() < callers.size();
  HostReach reach = {.ips = {choice.endpoint.address.ip},
                     .interface = proved ? choice.endpoint.interface : "",
                     .relay = false,
                     .cut_off = {}};
  while (!choice.cut_off.empty()) {
    const std::vector<size_t> left = std::move(choice.cut_off);
    choice = choose(number, host.endpoints, left, reached);
    if (choice.cut_off.size() == left.size()) {
      reach.cut_off.assign(left.begin(), left.end());
      warn_of_cut_off(left, number, hosts, reached, warnings);
      break;
    }
    std::vector<size_t> served;
    std::ranges::set_difference(left, choice.cut_off, std::back_inserter(served));
    reach.ips.push_back(choice.endpoint.address.ip);
    warnings.push_back(
        format("{} can reach {} only at {}, others at {}; dtrain's engine uses both, but programs "
               "that get one address a host (TF_CONFIG, MASTER_ADDR) use {}",
               names_of(served, hosts), host.name, reach.ips.back(), reach.ips.front(),
               reach.ips.front()));
  }
  return reach;
}

}  // namespace

std::vector<uint32_t> probe_targets(uint32_t agent, uint32_t agent_count) {
  const uint32_t count = agent_count <= all_pairs_max ? agent_count - 1 : sample;
  std::vector<uint32_t> targets = {launcher_number};
  for (uint32_t step = 1; step <= count; ++step)
    targets.push_back((agent + step) % agent_count);
  return targets;
}

std::vector<Probe> probe_orders(const Probed& launcher, const std::vector<Probed>& hosts) {
  std::vector<Probe> orders(hosts.size());
  for (uint32_t number = 0; number < hosts.size(); ++number) {
    for (const uint32_t target : probe_targets(number, static_cast<uint32_t>(hosts.size()))) {
      const Probed& machine = target == launcher_number ? launcher : hosts[target];
      ProbeTarget wanted = {.number = target, .addresses = {}};
      for (const ProbeEndpoint& endpoint : machine.endpoints)
        wanted.addresses.push_back(endpoint.address);
      orders[number].targets.push_back(std::move(wanted));
    }
    orders[number].head_start = head_start;
  }
  return orders;
}

std::vector<Probe> further_orders(const std::vector<Probe>& orders,
                                  const std::vector<ProbeDialer::Reached>& reached) {
  const auto reached_first = [&](size_t caller, const ProbeTarget& target) {
    return was_reached(reached[caller], target.number, target.addresses.front());
  };
  std::set<uint32_t> missed;
  for (size_t caller = 0; caller < orders.size(); ++caller) {
    for (const ProbeTarget& target : orders[caller].targets) {
      if (target.addresses.size() > 1 && !reached_first(caller, target))
        missed.insert(target.number);
    }
  }
  std::vector<Probe> further(orders.size(), Probe{.targets = {}, .patience = further_patience});
  bool needed = false;
  for (size_t caller = 0; caller < orders.size(); ++caller) {
    for (const ProbeTarget& target : orders[caller].targets) {
      if (!missed.contains(target.number) || !reached_first(caller, target)) continue;
      further[caller].targets.push_back(target);
      std::vector<Address>& addresses = further[caller].targets.back().addresses;
      addresses.erase(addresses.begin());
      needed = true;
    }
  }
  return needed ? further : std::vector<Probe>();
}

void add_reached(std::vector<ProbeDialer::Reached>& reached, const std::vector<Reached>& further) {
  for (size_t caller = 0; caller < reached.size(); ++caller) {
    for (const ProbeTarget& more : further[caller].targets) {
      const auto target = std::ranges::find(reached[caller], more.number, &ProbeTarget::number);
      if (target == reached[caller].end()) continue;
      for (const Address& address : more.addresses) {
        if (std::ranges::count(target->addresses, address) == 0)
          target->addresses.push_back(address);
      }
    }
  }
}

Reach choose_addresses(const Probed& launcher, const std::vector<Probed>& hosts,
                       const std::vector<ProbeDialer::Reached>& reached) {
  Reach reach;
  for (uint32_t number = 0; number < hosts.size(); ++number)
    reach.hosts.push_back(reach_of(number, hosts, reached, reach.warnings));
  const std::vector<size_t> callers = callers_of(launcher_number, reached);
  const Choice own = choose(launcher_number, launcher.endpoints, callers, reached);
  for (const size_t agent : own.cut_off)
    reach.hosts[agent].relay = true;
  // If no caller reaches this machine, it listens on loopback only: all hosts use relays.
  const bool useless = own.cut_off.size() == callers.size();
  reach.launcher = useless ? loopback : own.endpoint.address.ip;
  return reach;
}

AddressSet task_sources(const Plan& plan, const Reach& reach, const std::vector<Hello>& hellos) {
  std::vector<std::string> ips;
  for (size_t agent = 0; agent < plan.hosts.size(); ++agent) {
    // Tasks on this machine dial one of its addresses from that address.
    if (plan.hosts[agent].host.here) ips.push_back(reach.launcher);
    for (const InterfaceAddress& address : hellos[agent].addresses) {
      if (!is_loopback(address.ip)) ips.push_back(address.ip);
    }
  }
  return AddressSet(ips);
}

std::vector<std::string> shared_machines(const std::vector<std::string>& names,
                                         const std::vector<Hello>& hellos) {
  std::map<std::pair<std::string, uint64_t>, std::vector<std::string>> machines;
  for (size_t agent = 0; agent < hellos.size(); ++agent) {
    const MachineId& machine = hellos[agent].machine;
    machines[{machine.boot, machine.network_namespace}].push_back(names[agent]);
  }
  std::vector<std::string> warnings;
  for (const auto& [machine, its_names] : machines) {
    if (machine.first.empty() || its_names.size() < 2) continue;
    warnings.push_back(
        format("{} are one machine under several names (same boot, same network); "
               "each counts as a host of its own",
               some_of(its_names, names_max)));
  }
  return warnings;
}

bool is_probed(const ProbedHosts& probed, const Plan& plan) {
  return std::ranges::all_of(plan.hosts, [&probed](const PlannedHost& planned) {
    return std::ranges::any_of(probed.hosts,
                               [&planned](const Host& host) { return host.same_as(planned.host); });
  });
}

Reach reach_of_plan(const ProbedHosts& probed, const Plan& plan) {
  std::map<int32_t, int32_t> numbers;  // those of the probe to those of the plan
  Reach reach = {.launcher = probed.reach.launcher, .hosts = {}, .warnings = {}};
  for (const PlannedHost& planned : plan.hosts) {
    const auto at = std::ranges::find_if(
        probed.hosts, [&planned](const Host& host) { return host.same_as(planned.host); });
    const auto number = at - probed.hosts.begin();
    numbers.emplace(number, reach.hosts.size());
    reach.hosts.push_back(probed.reach.hosts[static_cast<size_t>(number)]);
  }
  for (HostReach& host : reach.hosts) {
    std::vector<int32_t> cut_off;
    for (const int32_t number : host.cut_off) {
      const auto at = numbers.find(number);
      if (at != numbers.end()) cut_off.push_back(at->second);
    }
    host.cut_off = std::move(cut_off);
  }
  return reach;
}

bool needs_probe(const Plan& plan, const std::vector<std::string>& networks) {
  return plan.hosts.size() > 1 || !plan.hosts.front().host.here || !networks.empty();
}

Result<Reach> find_reach(Loop& loop, AgentGroup& agents, const Plan& plan,
                         const std::vector<Prepared>& prepared, const ReachTerms& terms) {
  if (!needs_probe(plan, terms.networks)) {
    return Reach{
        .launcher = loopback, .hosts = {{.ips = {loopback}, .interface = {}}}, .warnings = {}};
  }
  Probed launcher = {.name = "this machine", .endpoints = {}};
  // Without an address in these networks this machine does not listen: agents relay for it.
  auto allowed = allowed_addresses(interface_addresses(), terms.networks);
  if (allowed && terms.rendezvous) {
    std::erase_if(*allowed, [&terms](const InterfaceAddress& address) {
      return address.ip != *terms.rendezvous;
    });
  }
  std::unique_ptr<ProbeListener> own;
  if (allowed && !allowed->empty()) {
    own = TRY(ProbeListener::open(loop, {*allowed, terms.held_port}, terms.token, launcher_number));
    launcher.endpoints = own->endpoints();
  }
  std::vector<Probed> hosts;
  std::vector<std::string> names;
  for (size_t number = 0; number < prepared.size(); ++number) {
    names.push_back(plan.hosts[number].host.name);
    hosts.push_back({names.back(), prepared[number].probe_endpoints});
  }
  std::vector<ProbeDialer::Reached> reached;
  const std::vector<Probe> orders = probe_orders(launcher, hosts);
  for (Reached& answer : TRY(agents.probe(orders, terms.awaited)))
    reached.push_back(std::move(answer.targets));
  if (const auto further = further_orders(orders, reached); !further.empty()) {
    const std::vector<Reached> answers = TRY(agents.probe(further, terms.awaited));
    add_reached(reached, answers);
  }
  Reach reach = choose_addresses(launcher, hosts, reached);
  std::ranges::move(shared_machines(names, agents.hellos()), std::back_inserter(reach.warnings));
  return reach;
}

void log_reach(Log& log, const std::string& host, const HostReach& reach) {
  if (!reach.interface.empty())
    log.info("{}: other hosts reach it at {} ({})", host, reach.ips.front(), reach.interface);
  if (reach.relay) log.info("{}: cannot reach this machine; its agent relays the rendezvous", host);
}

}  // namespace dt
