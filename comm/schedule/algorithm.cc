#include "comm/schedule/algorithm.h"

#include "comm/schedule/barrier.h"
#include "comm/schedule/bruck.h"
#include "comm/schedule/direct.h"
#include "comm/schedule/doubling.h"
#include "comm/schedule/hierarchical.h"
#include "comm/schedule/host_map.h"
#include "comm/schedule/rank_order.h"
#include "comm/schedule/ring.h"
#include "comm/schedule/tree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace dt {

namespace {

// Below these sizes, fewer rounds save more time than fewer bytes.
constexpr size_t doubling_bytes_max = 16 << 10;
constexpr size_t tree_reduce_bytes_max = 32 << 10;
constexpr size_t tree_parts_bytes_max = 8 << 10;
constexpr size_t bruck_gather_bytes_max = 4 << 10;
constexpr size_t bruck_exchange_bytes_max = 256;
/// A ring has many rounds. It wins when each of its parts has this many bytes.
constexpr size_t ring_part_bytes_min = 32 << 10;
constexpr int few_ranks = 8;

/// An all-reduce of up to this size has one lane: more messages at once would take longer.
constexpr size_t one_lane_bytes_max = 16 << 10;
/// Each phase in the memory of a host has a number, see MailboxRound.
constexpr int hosts_in_phases_max = 1000;

AlgorithmRules all_reduce_rules(RankCounts counts, bool nested) {
  if (nested && counts.memory) return {{Algorithm::hierarchical}};
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(counts.ranks));
  // Outside a power of two, recursive doubling has two more rounds than its logarithm.
  const bool few = !power_of_two && counts.ranks < few_ranks;
  const AlgorithmRule small{few ? Algorithm::tree : Algorithm::recursive_doubling,
                            doubling_bytes_max};
  if (nested) return {small, {Algorithm::hierarchical}};
  if (few) return {small, {Algorithm::ring}};
  const size_t short_parts_max = ring_part_bytes_min * static_cast<size_t>(counts.ranks) - 1;
  return {small, {Algorithm::halving_doubling, short_parts_max}, {Algorithm::ring}};
}

using Shape = CollectiveShape;

/// A kind that an algorithm supports, and its steps.
struct Entry {
  OperationKind kind;
  Algorithm algorithm;
  Steps (*steps)(Group group, const Shape& shape);
};

/// Returns the map of the group; where it has none, that of one host.
HostMap hosts_of(Group group) {
  if (group.hosts != nullptr) return *group.hosts;
  return HostMap(std::vector<int>(static_cast<size_t>(group.size)));
}

/// The all-reduce of a lane, which has one rank of each host.
LaneReduce lane_reduce(const Shape& shape) {
  return [&shape](Group lane, size_t count, bool in_place) {
    const RankCounts counts{.ranks = lane.size, .hosts = lane.size};
    const Shape inner{.kind = OperationKind::all_reduce, .count = count, .in_place = in_place};
    const AlgorithmRules rules = default_rules(inner.kind, counts);
    return *steps_of(lane, inner, choose(rules, count * shape.element_bytes));
  };
}

Steps hierarchical_all_reduce_of(Group group, const Shape& shape) {
  return hierarchical_all_reduce(group, hosts_of(group), shape.count, lane_reduce(shape),
                                 shape.in_place);
}

constexpr std::array<Entry, 24> entries = {{
    {OperationKind::all_reduce, Algorithm::ring,
     [](Group g, const Shape& s) { return ring_all_reduce(g, s.count); }},
    {OperationKind::all_reduce, Algorithm::tree,
     [](Group g, const Shape& s) { return tree_all_reduce(g, s.count); }},
    {OperationKind::all_reduce, Algorithm::recursive_doubling,
     [](Group g, const Shape& s) { return recursive_doubling_all_reduce(g, s.count, s.in_place); }},
    {OperationKind::all_reduce, Algorithm::halving_doubling,
     [](Group g, const Shape& s) { return halving_doubling_all_reduce(g, s.count); }},
    {OperationKind::broadcast, Algorithm::tree,
     [](Group g, const Shape& s) { return binomial_broadcast(g, s.count, s.root); }},
    {OperationKind::all_gather, Algorithm::ring,
     [](Group g, const Shape& s) { return ring_all_gather(g, s.count); }},
    {OperationKind::all_gather, Algorithm::bruck,
     [](Group g, const Shape& s) { return bruck_all_gather(g, s.count); }},
    {OperationKind::reduce_scatter, Algorithm::ring,
     [](Group g, const Shape& s) { return ring_reduce_scatter(g, s.count, s.in_place); }},
    {OperationKind::reduce, Algorithm::ring,
     [](Group g, const Shape& s) { return ring_reduce(g, s.count, s.root); }},
    {OperationKind::reduce, Algorithm::tree,
     [](Group g, const Shape& s) { return binomial_reduce(g, s.count, s.root); }},
    {OperationKind::gather, Algorithm::tree,
     [](Group g, const Shape& s) { return binomial_gather(g, s.count, s.root); }},
    {OperationKind::gather, Algorithm::direct,
     [](Group g, const Shape& s) { return direct_gather(g, s.count, s.root); }},
    {OperationKind::scatter, Algorithm::tree,
     [](Group g, const Shape& s) { return binomial_scatter(g, s.count, s.root); }},
    {OperationKind::scatter, Algorithm::direct,
     [](Group g, const Shape& s) { return direct_scatter(g, s.count, s.root); }},
    {OperationKind::all_to_all, Algorithm::pairwise,
     [](Group g, const Shape& s) { return pairwise_all_to_all(g, s.count, s.in_place); }},
    {OperationKind::all_to_all, Algorithm::bruck,
     [](Group g, const Shape& s) { return bruck_all_to_all(g, s.count); }},
    {OperationKind::barrier, Algorithm::dissemination,
     [](Group g, const Shape&) { return dissemination_barrier(g); }},
    {OperationKind::all_reduce, Algorithm::hierarchical, hierarchical_all_reduce_of},
    {OperationKind::reduce_scatter, Algorithm::hierarchical,
     [](Group g, const Shape& s) { return hierarchical_reduce_scatter(g, hosts_of(g), s.count); }},
    {OperationKind::all_gather, Algorithm::hierarchical,
     [](Group g, const Shape& s) { return hierarchical_all_gather(g, hosts_of(g), s.count); }},
    {OperationKind::broadcast, Algorithm::hierarchical,
     [](Group g, const Shape& s) {
       return hierarchical_broadcast(g, hosts_of(g), s.count, s.root);
     }},
    {OperationKind::all_reduce, Algorithm::rank_order,
     [](Group g, const Shape& s) { return rank_order_all_reduce(g, {s.count, s.element_bytes}); }},
    {OperationKind::reduce_scatter, Algorithm::rank_order,
     [](Group g, const Shape& s) {
       return rank_order_reduce_scatter(g, {s.count, s.element_bytes});
     }},
    {OperationKind::reduce, Algorithm::rank_order,
     [](Group g, const Shape& s) {
       return rank_order_reduce(g, {s.count, s.element_bytes}, s.root);
     }},
}};

/// Adds the token of two ranks. Where one sends all data, the other sends a token in the first step
/// in which it receives.
Steps with_crossing_token(Group group, Steps steps, size_t work) {
  const int other = 1 - group.rank;
  const Range token{work, work + 1, Place::work};
  const auto sends = std::ranges::find(steps, other, &Step::send_to);
  const auto receives = std::ranges::find(steps, other, &Step::receive_from);
  if (sends != steps.end() && receives == steps.end()) {
    sends->receive_from = other;
    sends->receive = token;
    sends->fold = Fold::replace;
  } else if (receives != steps.end() && sends == steps.end()) {
    receives->send_to = other;
    receives->send = token;
  }
  return steps;
}

/// Adds tokens to the steps of a rooted collective, so that no rank ends before all have begun. A
/// token is an element of work memory without a meaning.
///
///   broadcast, scatter:  leaves ─ tokens ▶ root, then the steps
///   reduce, gather:      the steps, then root ─ tokens ▶ leaves
///
/// Between two ranks, the token crosses the data.
Steps with_tokens(Group group, const Shape& shape, Steps steps) {
  if (shape.count == 0) return steps;
  const size_t work = work_elements(steps);
  const bool from_root =
      shape.kind == OperationKind::broadcast || shape.kind == OperationKind::scatter;
  if (group.size == 2) return with_crossing_token(group, std::move(steps), work);
  const Steps tokens = from_root ? tokens_to_root(group, shape.root, work)
                                 : tokens_from_root(group, shape.root, work);
  steps.insert(from_root ? steps.begin() : steps.end(), tokens.begin(), tokens.end());
  return steps;
}

/// Returns null when the algorithm does not support that kind.
const Entry* find_entry(OperationKind kind, Algorithm algorithm) {
  const auto* const found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.kind == kind && entry.algorithm == algorithm;
  });
  return found == entries.end() ? nullptr : found;
}

}  // namespace

AlgorithmRules default_rules(OperationKind kind, RankCounts counts) {
  const bool nested = counts.hosts > 1 && counts.hosts < counts.ranks;
  switch (kind) {
    case OperationKind::all_reduce:
      return all_reduce_rules(counts, nested);
    case OperationKind::reduce:
      return {{Algorithm::tree, tree_reduce_bytes_max}, {Algorithm::ring}};
    case OperationKind::gather:
    case OperationKind::scatter:
      return {{Algorithm::tree, tree_parts_bytes_max}, {Algorithm::direct}};
    case OperationKind::all_gather: {
      const AlgorithmRule large{nested ? Algorithm::hierarchical : Algorithm::ring};
      if (counts.ranks <= 2 || (nested && counts.memory)) return {large};
      return {{Algorithm::bruck, bruck_gather_bytes_max}, large};
    }
    case OperationKind::all_to_all:
      if (counts.ranks < few_ranks) return {{Algorithm::pairwise}};
      return {{Algorithm::bruck, bruck_exchange_bytes_max}, {Algorithm::pairwise}};
    case OperationKind::reduce_scatter:
      return {{nested ? Algorithm::hierarchical : Algorithm::ring}};
    case OperationKind::all_gather_v:
      return {{Algorithm::ring}};
    case OperationKind::broadcast:
      return {{nested ? Algorithm::hierarchical : Algorithm::tree}};
    case OperationKind::barrier:
      return {{Algorithm::dissemination}};
    case OperationKind::all_to_all_v:
    case OperationKind::send:
    case OperationKind::receive:
    case OperationKind::join:
      break;
  }
  return {{Algorithm::pairwise}};
}

std::optional<Steps> steps_of(Group group, const CollectiveShape& shape, Algorithm algorithm) {
  const Entry* entry = find_entry(shape.kind, algorithm);
  if (entry == nullptr) return std::nullopt;
  Steps steps = entry->steps(group, shape);
  return is_rooted(shape.kind) ? with_tokens(group, shape, std::move(steps)) : steps;
}

bool runs_on_hosts(const HostMap& hosts, OperationKind kind) {
  if (!hosts.is_nested() || hosts.hosts() > hosts_in_phases_max) return false;
  switch (kind) {
    case OperationKind::all_reduce:
    case OperationKind::broadcast:
    case OperationKind::barrier:
      return true;
    case OperationKind::all_gather:
      return hosts.is_in_order();
    case OperationKind::reduce_scatter:
      return hosts.is_in_order() && hosts.is_even();
    default:
      return false;
  }
}

HostPhases host_phases_of(Group group, const HostMap& hosts, const CollectiveShape& shape) {
  switch (shape.kind) {
    case OperationKind::all_reduce:
      return all_reduce_on_hosts(group, hosts,
                                 {.count = shape.count,
                                  .in_place = shape.in_place,
                                  .small = shape.count * shape.element_bytes <= one_lane_bytes_max},
                                 lane_reduce(shape));
    case OperationKind::broadcast:
      return broadcast_on_hosts(group, hosts, shape.count, shape.root);
    case OperationKind::all_gather:
      return all_gather_on_hosts(group, hosts, shape.count);
    case OperationKind::reduce_scatter:
      return reduce_scatter_on_hosts(group, hosts, shape.count);
    default:
      return barrier_on_hosts(group, hosts);
  }
}

}  // namespace dt
