#pragma once

#include "base/result.h"
#include "launcher/config/allocation/allocation_variable.h"

#include <string>
#include <vector>

namespace dt {

/// Expands Slurm's list of nodes, "n[1-2,4],m5", to their names. Order and repeats stay.
Result<std::vector<std::string>> expand_node_list(const AllocationVariable& list);

/// Parses Slurm's numbers of all nodes: "4(x2),1" is 4, 4, 1. Fails for numbers outside of
/// 1..slots_max, and for more than hosts_max numbers.
Result<std::vector<int>> parse_node_counts(const AllocationVariable& counts);

}  // namespace dt
