#include "choices/algorithm_rules.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dt {

namespace {

constexpr std::array<std::string_view, algorithm_count> algorithm_names = {
    "ring",     "tree",  "recursive_doubling", "halving_doubling", "direct",
    "pairwise", "bruck", "dissemination",      "hierarchical",     "rank_order"};

using enum Algorithm;
constexpr auto supported = std::to_array<std::pair<OperationKind, Algorithm>>({
    {OperationKind::all_reduce, ring},
    {OperationKind::all_reduce, tree},
    {OperationKind::all_reduce, recursive_doubling},
    {OperationKind::all_reduce, halving_doubling},
    {OperationKind::all_reduce, hierarchical},
    {OperationKind::all_reduce, rank_order},
    {OperationKind::broadcast, tree},
    {OperationKind::broadcast, hierarchical},
    {OperationKind::all_gather, ring},
    {OperationKind::all_gather, bruck},
    {OperationKind::all_gather, hierarchical},
    {OperationKind::reduce_scatter, ring},
    {OperationKind::reduce_scatter, hierarchical},
    {OperationKind::reduce_scatter, rank_order},
    {OperationKind::reduce, ring},
    {OperationKind::reduce, tree},
    {OperationKind::reduce, rank_order},
    {OperationKind::gather, tree},
    {OperationKind::gather, direct},
    {OperationKind::scatter, tree},
    {OperationKind::scatter, direct},
    {OperationKind::all_to_all, pairwise},
    {OperationKind::all_to_all, bruck},
    {OperationKind::barrier, dissemination},
});

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) {
  return algorithm_names.at(static_cast<size_t>(algorithm));
}

std::optional<Algorithm> algorithm_named(std::string_view name) {
  const auto found = std::ranges::find(algorithm_names, name);
  if (found == algorithm_names.end()) return std::nullopt;
  return static_cast<Algorithm>(found - algorithm_names.begin());
}

bool supports(Algorithm algorithm, OperationKind kind) {
  return std::ranges::find(supported, std::pair(kind, algorithm)) != supported.end();
}

Algorithm choose(const AlgorithmRules& rules, size_t bytes) {
  return rule_for(rules, bytes).algorithm;
}

const AlgorithmRule& rule_for(const AlgorithmRules& rules, size_t bytes) {
  return *std::ranges::find_if(rules,
                               [&](const AlgorithmRule& rule) { return bytes <= rule.bytes_max; });
}

}  // namespace dt
