#pragma once

#include "base/result.h"
#include "launcher/connect/agent_group.h"
#include "launcher/network/probe.h"
#include "launcher/plan/plan.h"
#include "rendezvous/secure/address_set.h"

#include <string>
#include <vector>

namespace dt {

/// How the tasks of one host are reached, and reach the rendezvous.
struct HostReach {
  /// Where they listen. The first is for everybody; the others are for those hosts alone that
  /// cannot use the first.
  std::vector<std::string> ips;
  std::string interface;  ///< that has the first, if another host has proved it; else empty
  bool relay = false;     ///< they cannot dial the rendezvous, so that their agent carries it
  std::vector<int32_t> cut_off = {};  ///< agents whose tasks reach them nowhere
  bool operator==(const HostReach&) const = default;
};

/// By which addresses the machines of a job talk to each other.
struct Reach {
  std::string launcher;          ///< the one that the rendezvous listens on
  std::vector<HostReach> hosts;  ///< by agent number
  std::vector<std::string> warnings;
  bool operator==(const Reach&) const = default;
};

/// One machine that was probed, best address first.
struct Probed {
  std::string name;
  std::vector<ProbeEndpoint> places;
};

/// What else a probe needs to know.
struct ReachTerms {
  Token token;
  AgentGroup::Awaited awaited;
  std::vector<std::string> networks = {};  ///< as --network-interfaces names them; none: all
  uint16_t held_port = 0;                  ///< where this machine listens for the probe; 0: any
};

/// Whom an agent dials: everybody in small jobs, and the launcher always; above 32 hosts the next
/// 16 in the round, so that the work of each stays the same and each is dialled by 16.
std::vector<uint32_t> probe_targets(uint32_t agent, uint32_t agent_count);

/// What each of the hosts dials.
std::vector<Probe> probe_orders(const Probed& launcher, const std::vector<Probed>& hosts);

/// For each machine the first of its addresses by which all reached it that dialled it; where no
/// address suits all, the one that suits most, then those that the others need, with a warning that
/// names them. Hosts that do not reach the launcher's address get a relay. `reached` by the number
/// of the agent that dialled.
Reach choose_addresses(const Probed& launcher, const std::vector<Probed>& hosts,
                       const std::vector<ProbeDialer::Reached>& reached);

/// From which addresses the tasks may dial the launcher: those that their agents reported. On one
/// machine that is the loopback alone, and nowhere else is it any.
AddressSet task_sources(const Plan& plan, const Reach& reach, const std::vector<Hello>& hellos);

/// A line for each machine that several of the hosts are. They stay hosts of their own: their
/// processes may live in containers that share nothing but the network.
std::vector<std::string> shared_machines(const std::vector<std::string>& names,
                                         const std::vector<Hello>& hellos);

/// Whether the machines of this plan have to find each other; one machine talks over loopback,
/// unless the user has named a network.
bool needs_probe(const Plan& plan, const std::vector<std::string>& networks);

/// Has all agents of the plan dial each other and this machine, where needed, and chooses.
Result<Reach> find_reach(Loop& loop, AgentGroup& crew, const Plan& plan,
                         const std::vector<Prepared>& prepared, const ReachTerms& terms);

}  // namespace dt
