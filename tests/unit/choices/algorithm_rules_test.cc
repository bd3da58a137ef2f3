#include "choices/algorithm_rules.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("each algorithm has a name, by which it is found") {
  for (int number = 0; number < algorithm_count; ++number) {
    const auto algorithm = static_cast<Algorithm>(number);
    CHECK(algorithm_named(algorithm_name(algorithm)) == algorithm);
  }
  CHECK(algorithm_name(Algorithm::rank_order) == "rank_order");
  CHECK_FALSE(algorithm_named("").has_value());
  CHECK_FALSE(algorithm_named("Ring").has_value());
}

TEST_CASE("a limit in bytes belongs to the rule before it") {
  const AlgorithmRules rules = {{Algorithm::tree, 100}, {Algorithm::bruck, 200}, {Algorithm::ring}};
  CHECK(choose(rules, 0) == Algorithm::tree);
  CHECK(choose(rules, 100) == Algorithm::tree);
  CHECK(choose(rules, 101) == Algorithm::bruck);
  CHECK(choose(rules, 201) == Algorithm::ring);
  CHECK(rule_for(rules, SIZE_MAX) == rules.back());
}

TEST_CASE("operations with counts a rank, messages and groups have no algorithm to choose") {
  for (const auto kind : {OperationKind::all_to_all_v, OperationKind::all_gather_v,
                          OperationKind::send, OperationKind::join})
    for (int number = 0; number < algorithm_count; ++number)
      CHECK_FALSE(supports(static_cast<Algorithm>(number), kind));
}

}  // namespace
}  // namespace dt
