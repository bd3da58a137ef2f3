#pragma once

#include "launcher/config/hosts/hosts.h"
#include "launcher/config/restarts/restart_options.h"

#include <string>
#include <vector>

namespace dt {

/// With how many ranks a job whose size follows its hosts can start.
struct SizeNeed {
  int ranks = 0;    ///< to start with now; 0: the hosts have too few slots
  int missing = 0;  ///< slots that lack; a host that lacks counts as one slot at least
  bool operator==(const SizeNeed&) const = default;
};

/// Decides by the hosts that are there, in the order in which they get ranks; their slots are
/// known. `other_tasks` of roles without ranks need a slot each. The first start waits for the
/// slots of -np, later ones for those of --min-np; each then takes all slots up to --max-np.
SizeNeed needed_ranks(const JobSize& size, const std::vector<Host>& there, int other_tasks,
                      bool first_start);

/// Returns "6 of 8 slots", or "1 of 2 hosts" where these have slots enough, for hosts that are too
/// few.
std::string shortage_text(const JobSize& size, const std::vector<Host>& there, int other_tasks,
                          bool first_start);

}  // namespace dt
