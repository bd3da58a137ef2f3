#include "comm/schedule/algorithm.h"

#include "comm/schedule/barrier.h"
#include "comm/schedule/bruck.h"
#include "comm/schedule/direct.h"
#include "comm/schedule/doubling.h"
#include "comm/schedule/ring.h"
#include "comm/schedule/tree.h"

#include <algorithm>
#include <array>
#include <bit>

namespace dt {

namespace {

constexpr std::array<std::string_view, 8> names = {
    "ring",     "tree",  "recursive_doubling", "halving_doubling", "direct",
    "pairwise", "bruck", "dissemination"};

// Below these sizes, fewer rounds save more time than fewer bytes.
constexpr size_t doubling_bytes_max = 16 << 10;
constexpr size_t tree_reduce_bytes_max = 32 << 10;
constexpr size_t tree_parts_bytes_max = 8 << 10;
constexpr size_t bruck_gather_bytes_max = 4 << 10;
constexpr size_t bruck_exchange_bytes_max = 256;
/// A ring has many rounds. It wins when each of its parts has this many bytes.
constexpr size_t ring_part_bytes_min = 32 << 10;
constexpr int few_ranks = 8;

Algorithm choose_all_reduce(size_t bytes, int ranks) {
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(ranks));
  // Outside a power of two, recursive doubling has two more rounds than its logarithm.
  const bool few = !power_of_two && ranks < few_ranks;
  if (bytes <= doubling_bytes_max) return few ? Algorithm::tree : Algorithm::recursive_doubling;
  const bool long_parts = bytes >= ring_part_bytes_min * static_cast<size_t>(ranks);
  return few || long_parts ? Algorithm::ring : Algorithm::halving_doubling;
}

using Shape = CollectiveShape;

/// A kind that an algorithm can play, and its steps.
struct Entry {
  OperationKind kind;
  Algorithm algorithm;
  Steps (*steps)(Group group, const Shape& shape);
};

constexpr std::array<Entry, 17> entries = {{
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
}};

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) {
  return names.at(static_cast<size_t>(algorithm));
}

std::optional<Algorithm> algorithm_named(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Algorithm>(found - names.begin());
}

Algorithm choose(OperationKind kind, size_t bytes, int ranks) {
  switch (kind) {
    case OperationKind::all_reduce:
      return choose_all_reduce(bytes, ranks);
    case OperationKind::reduce:
      return bytes <= tree_reduce_bytes_max ? Algorithm::tree : Algorithm::ring;
    case OperationKind::gather:
    case OperationKind::scatter:
      return bytes <= tree_parts_bytes_max ? Algorithm::tree : Algorithm::direct;
    case OperationKind::all_gather:
      return ranks > 2 && bytes <= bruck_gather_bytes_max ? Algorithm::bruck : Algorithm::ring;
    case OperationKind::all_to_all:
      return ranks >= few_ranks && bytes <= bruck_exchange_bytes_max ? Algorithm::bruck
                                                                     : Algorithm::pairwise;
    case OperationKind::reduce_scatter:
    case OperationKind::all_gather_ragged:
      return Algorithm::ring;
    case OperationKind::broadcast:
      return Algorithm::tree;
    case OperationKind::barrier:
      return Algorithm::dissemination;
    case OperationKind::all_to_all_split:
    case OperationKind::send:
    case OperationKind::receive:
      break;
  }
  return Algorithm::pairwise;
}

std::optional<Steps> steps_of(Group group, const CollectiveShape& shape, Algorithm algorithm) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.kind == shape.kind && entry.algorithm == algorithm;
  });
  if (found == entries.end()) return std::nullopt;
  return found->steps(group, shape);
}

}  // namespace dt
