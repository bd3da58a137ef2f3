#pragma once

#include "choices/algorithm_text.h"
#include "comm/schedule/algorithm.h"

#include <array>
#include <cstddef>

namespace dt {

/// The algorithms of one group: those that the user has chosen for the job, and the default ones.
/// The defaults depend on the group's numbers of ranks and hosts. All ranks have the same table.
class AlgorithmTable {
 public:
  AlgorithmTable(const ChosenAlgorithms& chosen, RankCounts counts);

  /// Requires a collective.
  const AlgorithmRules& rules(OperationKind kind) const {
    return rules_[static_cast<size_t>(kind)];
  }
  /// `bytes` as for choose().
  const AlgorithmRule& rule(OperationKind kind, size_t bytes) const {
    return rule_for(rules(kind), bytes);
  }

 private:
  static constexpr size_t kinds = static_cast<size_t>(OperationKind::barrier) + 1;
  std::array<AlgorithmRules, kinds> rules_;
};

}  // namespace dt
