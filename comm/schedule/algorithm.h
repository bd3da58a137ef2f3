#pragma once

#include "comm/schedule/hierarchical.h"
#include "comm/schedule/operation_kind.h"
#include "comm/schedule/schedule.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A way to play a collective.
enum class Algorithm : uint8_t {
  ring,
  tree,
  recursive_doubling,
  halving_doubling,
  direct,
  pairwise,
  bruck,
  dissemination,
  hierarchical,
  rank_order,
};
inline constexpr int algorithm_count = 10;

/// "recursive_doubling".
std::string_view algorithm_name(Algorithm algorithm);
/// The algorithm of that name; none when there is no such name.
std::optional<Algorithm> algorithm_named(std::string_view name);

/// The size of a group.
struct RankCounts {
  int ranks = 1;
  int hosts = 1;
  bool memory = false;  ///< the ranks of each host share memory
};

/// The algorithm of calls with up to `bytes_max` bytes.
struct AlgorithmRule {
  Algorithm algorithm = Algorithm::ring;
  size_t bytes_max = SIZE_MAX;
  std::string registered = {};  ///< the name of a program's own algorithm, instead of `algorithm`
  bool operator==(const AlgorithmRule&) const = default;
};
/// The algorithms of one kind, by ascending bytes. The last rule has no limit.
using AlgorithmRules = std::vector<AlgorithmRule>;

/// Returns the rules that are in effect when the user has given none.
AlgorithmRules default_rules(OperationKind kind, RankCounts counts);
/// Returns the algorithm of a call. `bytes` are those of the call's `count` elements: the whole
/// buffer of all_reduce, broadcast and reduce, otherwise one rank's part. All ranks give the same
/// arguments and so choose the same algorithm.
Algorithm choose(const AlgorithmRules& rules, size_t bytes);
/// Returns the rule that applies.
const AlgorithmRule& rule_for(const AlgorithmRules& rules, size_t bytes);

/// A collective whose ranks have equal counts.
struct CollectiveShape {
  OperationKind kind = OperationKind::barrier;
  size_t count = 0;
  int root = 0;
  size_t element_bytes = 1;
  bool in_place = false;  ///< input and output are the same buffer
  bool operator==(const CollectiveShape&) const = default;
};

/// True when the algorithm can play that kind.
bool plays(OperationKind kind, Algorithm algorithm);
/// Returns this rank's steps by the algorithm. None when it cannot play that kind. With elements,
/// no rank ends before all have begun. This holds for rooted kinds, too.
std::optional<Steps> steps_of(Group group, const CollectiveShape& shape, Algorithm algorithm);

/// True when ranks that share memory on each host play that kind in phases. Equal on all ranks.
bool plays_on_hosts(const HostMap& hosts, OperationKind kind);
/// Returns this rank's phases of such a kind. Requires elements, unless it is a barrier.
HostPhases host_phases_of(Group group, const HostMap& hosts, const CollectiveShape& shape);

}  // namespace dt
