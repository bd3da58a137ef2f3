#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/connect/agent_group.h"
#include "launcher/plan/plan.h"

#include <functional>
#include <string>
#include <vector>

namespace dt {

/// The plan of the next generation, as far as its hosts are known.
struct NextPlan {
  Plan plan;
  std::vector<Host> lost = {};          ///< hosts that the plan does not use, the first lost first
  std::vector<size_t> missing = {};     ///< indices of hosts with tasks that are not connected
  std::vector<std::string> taken = {};  ///< names of spares that have taken a place
  int slots_missing = 0;                ///< of a sized plan, which has no tasks then
  bool is_full = false;                 ///< a sized plan would have no more tasks with more hosts
};

/// Returns the plan for the hosts that are there. Each host that is not connected loses its place
/// to the first spare that is connected and has slots enough; tasks and ranks stay in their place.
/// If there is none, the place keeps its host. Spares that are lost leave the plan. The host that
/// has lost its place is a spare itself while it connects. `states` are those of the agents of
/// `last`.
NextPlan next_plan(Plan last, std::vector<Host> lost, const std::vector<AgentState>& states);

/// The terms of a job whose size follows its hosts.
struct SizedTerms {
  const RunConfig& config;  ///< has the limits of the size
  bool is_first = false;    ///< no generation has run yet
  /// By which the job has named or used the hosts, whichever of them answers first; may be empty.
  std::function<size_t(const Host&)> order = {};
  /// Hosts that are kept out have no tasks; may be empty.
  std::function<bool(const Host&)> is_out = {};
};

/// Returns the plan of a job whose size follows its hosts. Each host that is connected offers its
/// slots, in the order of `terms`, else of `last`. The ranked role gets as many tasks as
/// config.restarts.size allows. The other hosts of the plan, which connect or are not needed, have
/// no tasks. Fails as make_plan() does. Requires that the slots of connected hosts are known.
Result<NextPlan> sized_plan(Plan last, std::vector<Host> lost, std::vector<AgentState> states,
                            const SizedTerms& terms);

/// True if the host has slots enough for the place of another one, or its slots are not known yet.
bool can_replace(const Host& host, const PlannedHost& place);

/// Returns a warning for each of these spares that can take the place of no host.
std::vector<std::string> useless_spare_warnings(const Plan& plan, const std::vector<Host>& spares);

}  // namespace dt
