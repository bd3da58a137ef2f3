#pragma once

#include "base/io/log.h"
#include "base/result.h"
#include "launcher/connect/agent_group.h"
#include "launcher/network/probe.h"
#include "launcher/plan/plan.h"
#include "rendezvous/secure/address_set.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The addresses of the tasks of one host, and whether they can dial the rendezvous.
struct HostReach {
  /// The addresses at which the tasks listen. All hosts use the first; the others are for hosts
  /// that cannot use the first.
  std::vector<std::string> ips;
  std::string interface;              ///< of the first address; empty: no other host reached it
  bool relay = false;                 ///< they cannot dial the rendezvous: their agent relays it
  std::vector<int32_t> cut_off = {};  ///< agents whose tasks reach none of the addresses
  bool operator==(const HostReach&) const = default;
};

/// The addresses that the machines of a job use for each other.
struct Reach {
  std::string launcher;          ///< the address that the rendezvous listens on
  std::vector<HostReach> hosts;  ///< by agent number
  std::vector<std::string> warnings;
  bool operator==(const Reach&) const = default;
};

/// The addresses that a probe has found, and its hosts by agent number. Later plans may number them
/// otherwise, and leave some out.
struct ProbedHosts {
  Reach reach;
  std::vector<Host> hosts;
};

/// True if all hosts of the plan were probed.
bool is_probed(const ProbedHosts& probed, const Plan& plan);

/// Returns the addresses of the plan's hosts, without the warnings. Requires that all were probed.
Reach reach_of_plan(const ProbedHosts& probed, const Plan& plan);

/// One machine to probe, best address first.
struct Probed {
  std::string name;
  std::vector<ProbeEndpoint> endpoints;
};

/// The options of find_reach().
struct ReachTerms {
  Token token;
  AgentGroup::Awaited awaited;
  std::vector<std::string> networks = {};  ///< the value of --network-interfaces; none: all
  uint16_t held_port = 0;                  ///< at which this machine listens for the probe; 0: any
  /// The address of a rendezvous that listens already; empty: tasks cannot dial it. None: any.
  std::optional<std::string> rendezvous = {};
};

/// The numbers of the agents that an agent dials, and the launcher's number. Up to 32 hosts it
/// dials all others; above that the next 16 in a ring. So 16 agents dial each host, whatever their
/// count.
std::vector<uint32_t> probe_targets(uint32_t agent, uint32_t agent_count);

/// The order for each host: the addresses to dial. Each host dials the first address of a target
/// before the others.
std::vector<Probe> probe_orders(const Probed& launcher, const std::vector<Probed>& hosts);

/// The orders of a second round, or none if it is not needed. Where some callers missed the first
/// address of a target, the callers that reached it dial its other addresses.
std::vector<Probe> further_orders(const std::vector<Probe>& orders,
                                  const std::vector<ProbeDialer::Reached>& reached);

/// Adds the addresses that were reached in the second round.
void add_reached(std::vector<ProbeDialer::Reached>& reached, const std::vector<Reached>& further);

/// Chooses the addresses of each machine: the first one that every caller reached. If there is
/// none, the address that most callers reached comes first. The addresses that the others need
/// follow, with a warning that names these. Hosts that cannot reach the launcher's address get a
/// relay. `reached`: by the number of the agent that dialed.
Reach choose_addresses(const Probed& launcher, const std::vector<Probed>& hosts,
                       const std::vector<ProbeDialer::Reached>& reached);

/// The addresses from which tasks may dial the launcher: those that their agents reported. Loopback
/// counts only if all tasks are on this machine, and is then the only address.
AddressSet task_sources(const Plan& plan, const Reach& reach, const std::vector<Hello>& hellos);

/// A warning for each machine that several hosts stand for. They remain separate hosts: they may be
/// containers that share nothing but the network.
std::vector<std::string> shared_machines(const std::vector<std::string>& names,
                                         const std::vector<Hello>& hellos);

/// True unless all tasks are on this machine and the user named no network: then loopback is
/// enough.
bool needs_probe(const Plan& plan, const std::vector<std::string>& networks);

/// Has the agents dial each other and this machine, if needs_probe(), and chooses the addresses.
Result<Reach> find_reach(Loop& loop, AgentGroup& agents, const Plan& plan,
                         const std::vector<Prepared>& prepared, const ReachTerms& terms);

/// Logs how the tasks of a host and the others talk, for --verbose.
void log_reach(Log& log, const std::string& host, const HostReach& reach);

}  // namespace dt
