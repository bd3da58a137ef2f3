#pragma once

#include "launcher/config/hosts/hosts.h"
#include "launcher/config/restarts/restart_options.h"

#include <vector>

namespace dt {

/// The size of the next generation.
struct SizeNeed {
  int ranks = 0;    ///< to start with now; 0: too few slots
  int missing = 0;  ///< slots that lack
};

SizeNeed needed_ranks(const JobSize& size, const std::vector<Host>& there, int other_tasks,
                      bool first_start);

}  // namespace dt
