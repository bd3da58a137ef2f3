#pragma once

#include "comm/schedule/host_map.h"
#include "comm/schedule/schedule.h"

#include <functional>

namespace dt {

// Schedules for several hosts with several ranks each. Links within a host are faster than those
// between hosts, so that each element crosses between hosts as seldom as possible. The ranks of a
// host share this traffic: the data is cut into lanes, one for each rank of the smallest host. The
// ranks with equal indices on their hosts exchange one lane. Hosts may have different numbers of
// ranks, and ranks may be dealt to hosts in any order.

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

}  // namespace dt
