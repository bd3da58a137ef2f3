#pragma once

#include "choices/operation_kind.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The order of messages in a collective.
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

/// True when the algorithm has steps for operations of that kind.
bool supports(Algorithm algorithm, OperationKind kind);

/// The algorithm of calls with up to `bytes_max` bytes.
struct AlgorithmRule {
  Algorithm algorithm = Algorithm::ring;
  size_t bytes_max = SIZE_MAX;
  std::string registered = {};  ///< the name of a program's own algorithm, instead of `algorithm`
  bool operator==(const AlgorithmRule&) const = default;
};
/// The algorithms of one kind, by ascending bytes. The last rule has no limit.
using AlgorithmRules = std::vector<AlgorithmRule>;

/// Returns the algorithm of a call. `bytes` are those of the call's `count` elements: the whole
/// buffer of all_reduce, broadcast and reduce, otherwise one rank's part. All ranks give the same
/// arguments and so choose the same algorithm.
Algorithm choose(const AlgorithmRules& rules, size_t bytes);
/// Returns the rule that applies.
const AlgorithmRule& rule_for(const AlgorithmRules& rules, size_t bytes);

}  // namespace dt
