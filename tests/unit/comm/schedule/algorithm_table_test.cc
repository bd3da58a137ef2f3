#include "comm/schedule/algorithm_table.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("chosen rules replace all default rules of their operation, and of no other one") {
  const RankCounts counts{.ranks = 4, .hosts = 2};
  const ChosenAlgorithms chosen = {
      {OperationKind::all_reduce, {{Algorithm::tree, 100}, {Algorithm::ring}}}};
  const AlgorithmTable table(chosen, counts);
  CHECK(table.rule(OperationKind::all_reduce, 100).algorithm == Algorithm::tree);
  CHECK(table.rule(OperationKind::all_reduce, 101).algorithm == Algorithm::ring);
  for (auto kind = OperationKind::broadcast; is_collective(kind);
       kind = static_cast<OperationKind>(static_cast<int>(kind) + 1))
    CHECK(table.rules(kind) == default_rules(kind, counts));
}

}  // namespace
}  // namespace dt
