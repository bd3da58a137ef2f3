#pragma once

#include "choices/algorithm_rules.h"
#include "comm/schedule/hierarchical.h"
#include "comm/schedule/schedule.h"

#include <cstddef>
#include <optional>

namespace dt {

/// The size of a group.
struct RankCounts {
  int ranks = 1;
  int hosts = 1;
  bool memory = false;  ///< the ranks of each host share memory
};

/// Returns the rules that are in effect when the user has given none.
AlgorithmRules default_rules(OperationKind kind, RankCounts counts);
/// A collective whose ranks have equal counts.
struct CollectiveShape {
  OperationKind kind = OperationKind::barrier;
  size_t count = 0;
  int root = 0;
  size_t element_bytes = 1;
  bool in_place = false;  ///< input and output are the same buffer
  bool operator==(const CollectiveShape&) const = default;
};

/// Returns this rank's steps by the algorithm. None when it does not support that kind. With
/// elements, no rank ends before all have begun. This holds for rooted kinds, too.
std::optional<Steps> steps_of(Group group, const CollectiveShape& shape, Algorithm algorithm);

/// True when ranks that share memory on each host run that kind in phases. Equal on all ranks.
bool runs_on_hosts(const HostMap& hosts, OperationKind kind);
/// Returns this rank's phases of such a kind. Requires elements, unless it is a barrier.
HostPhases host_phases_of(Group group, const HostMap& hosts, const CollectiveShape& shape);

}  // namespace dt
