#pragma once

#include "comm/schedule/operation_kind.h"
#include "comm/schedule/schedule.h"

#include <cstddef>
#include <optional>
#include <string_view>

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
};

/// "recursive_doubling".
std::string_view algorithm_name(Algorithm algorithm);
/// The algorithm of that name; none when there is no such name.
std::optional<Algorithm> algorithm_named(std::string_view name);

/// Returns the algorithm for a collective of `ranks` ranks. `bytes` are those of the call's `count`
/// elements: the whole buffer of all_reduce, broadcast and reduce, otherwise one rank's part. All
/// ranks give the same arguments and so choose the same algorithm.
Algorithm choose(OperationKind kind, size_t bytes, int ranks);

/// A collective whose ranks have equal counts.
struct CollectiveShape {
  OperationKind kind = OperationKind::barrier;
  size_t count = 0;
  int root = 0;
  bool in_place = false;  ///< input and output are the same buffer
};

/// Returns this rank's steps by the algorithm. None when it cannot play that kind.
std::optional<Steps> steps_of(Group group, const CollectiveShape& shape, Algorithm algorithm);

}  // namespace dt
