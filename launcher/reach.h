#pragma once

#include "base/result.h"
#include "launcher/crew.h"
#include "launcher/plan.h"
#include "launcher/probe.h"

#include <string>
#include <vector>

namespace dt {

/// By which addresses the machines of a job talk to each other.
struct Reach {
  std::string launcher;               ///< the one that the rendezvous listens on
  std::vector<std::string> hosts;     ///< by agent number: the one that its tasks listen on
  std::vector<std::string> warnings;  ///< pairs of hosts that have no way to each other
  bool operator==(const Reach&) const = default;
};

/// One machine that was probed, best address first.
struct Probed {
  std::string name;
  std::vector<Address> addresses;
};

/// What else a probe needs to know.
struct ReachTerms {
  Token token;
  Crew::Awaited awaited;
};

/// Whom an agent dials: everybody in small jobs, and the launcher always; above 32 hosts the next
/// 16 in the round, so that the work of each stays the same and each is dialled by 16.
std::vector<uint32_t> probe_targets(uint32_t agent, uint32_t agent_count);

/// For each machine the first of its addresses by which all reached it that dialled it; where no
/// address suits all, the one that suits most, with a warning that names who cannot use it.
/// `reached` by the number of the agent that dialled. An error when an agent cannot reach the
/// launcher.
Result<Reach> choose_addresses(const Probed& launcher, const std::vector<Probed>& hosts,
                               const std::vector<ProbeCalls::Reached>& reached);

/// Whether the machines of this plan have to find each other; one machine talks over loopback.
bool needs_probe(const Plan& plan);

/// Has all agents of the plan dial each other and this machine, where needed, and chooses.
Result<Reach> find_reach(Loop& loop, Crew& crew, const Plan& plan,
                         const std::vector<Prepared>& prepared, const ReachTerms& terms);

}  // namespace dt
