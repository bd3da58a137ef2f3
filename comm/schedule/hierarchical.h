#pragma once

#include "choices/operation_kind.h"
#include "comm/schedule/host_map.h"
#include "comm/schedule/schedule.h"

#include <functional>
#include <vector>

namespace dt {

// Schedules for several hosts with several ranks each. Links within a host are faster than those
// between hosts. So each element crosses between hosts as seldom as possible. The ranks of a host
// share this traffic. The data is cut into lanes, one for each rank of the smallest host. The ranks
// with equal indices on their hosts exchange one lane. Hosts may have different numbers of ranks,
// and ranks may be dealt to hosts in any order.

/// The all-reduce of one lane across hosts. `count` elements; input and output may be one buffer if
/// `in_place`.
using LaneReduce = std::function<Steps(Group group, size_t count, bool in_place)>;

/// As ring_all_reduce: reduce-scatter in each host, `across` for each lane, all-gather in each
/// host. With a ring across, the ranks of one of h hosts together send 2 (h-1)/h of the data to
/// others.
Steps hierarchical_all_reduce(Group group, const HostMap& hosts, size_t count,
                              const LaneReduce& across, bool in_place);
/// As ring_reduce_scatter: first in each host, then between the ranks of each lane.
Steps hierarchical_reduce_scatter(Group group, const HostMap& hosts, size_t count);
/// As ring_all_gather: first between the ranks of each lane, then in each host.
Steps hierarchical_all_gather(Group group, const HostMap& hosts, size_t count);
/// As binomial_broadcast: a tree of one rank of each host, then one in each host.
Steps hierarchical_broadcast(Group group, const HostMap& hosts, size_t count, int root);

/// A collective that the ranks of one host run in the memory that they share. It is a part of a
/// larger one. Its members are these ranks in ascending order.
struct HostPhase {
  OperationKind kind = OperationKind::barrier;  ///< or reduce_scatter, all_gather, broadcast
  Range input = {};                             ///< all elements
  Range output = {};
  int lanes = 0;  ///< how many members own a part, see OperationRequest; 0: it is no such kind
  int root = 0;   ///< the member that has the data of a broadcast
  bool operator==(const HostPhase&) const = default;
};

/// One rank's part of a collective where the ranks of each host share memory. Only `across` needs
/// links, and all ranks have the same number of phases before and after it.
struct HostPhases {
  std::vector<HostPhase> before = {};
  Steps across = {};
  std::vector<HostPhase> after = {};
  Range summed = {};  ///< the elements of the output that `across` reduces last on this rank
};

/// The buffer of an all-reduce.
struct ReducedBuffer {
  size_t count = 0;
  bool in_place = false;  ///< input and output are the same
  bool small = false;     ///< it is one lane
};
// As the functions above, and a barrier:
HostPhases all_reduce_on_hosts(Group group, const HostMap& hosts, ReducedBuffer buffer,
                               const LaneReduce& across);
/// Requires HostMap::is_in_order(), and as many ranks on each host.
HostPhases reduce_scatter_on_hosts(Group group, const HostMap& hosts, size_t count);
/// Requires HostMap::is_in_order().
HostPhases all_gather_on_hosts(Group group, const HostMap& hosts, size_t count);
HostPhases broadcast_on_hosts(Group group, const HostMap& hosts, size_t count, int root);
HostPhases barrier_on_hosts(Group group, const HostMap& hosts);

}  // namespace dt
