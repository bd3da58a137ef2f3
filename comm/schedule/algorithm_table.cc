#include "comm/schedule/algorithm_table.h"

namespace dt {

AlgorithmTable::AlgorithmTable(const ChosenAlgorithms& chosen, RankCounts counts) {
  for (size_t i = 0; i < kinds; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    const auto found = chosen.find(kind);
    rules_[i] = found != chosen.end() ? found->second : default_rules(kind, counts);
  }
}

}  // namespace dt
