#include "comm/schedule/algorithm.h"

#include "comm/schedule/doubling.h"
#include "tests/unit/comm/schedule/schedule_game.h"

#include <doctest/doctest.h>

#include <bit>
#include <string>

namespace dt {
namespace {

constexpr size_t kib = 1 << 10;

Algorithm algorithm_at(int index) {
  return static_cast<Algorithm>(index);
}

bool rank_has_result(const CollectiveShape& shape, int rank) {
  const bool to_root = shape.kind == OperationKind::reduce || shape.kind == OperationKind::gather;
  return !to_root || rank == shape.root;
}

bool has_whole_input(OperationKind kind) {
  return kind == OperationKind::reduce_scatter || kind == OperationKind::scatter ||
         kind == OperationKind::all_to_all;
}

bool has_whole_output(OperationKind kind) {
  return kind == OperationKind::all_gather || kind == OperationKind::gather ||
         kind == OperationKind::all_to_all;
}

/// The results of a collective, from the definition of its kind.
class Expected {
 public:
  Expected(const CollectiveShape& shape, int size) : shape_(shape), size_(size) {
    if (!reduces(shape.kind)) return;
    const bool whole = has_whole_input(shape.kind);
    sums_.resize(shape.count * (whole ? static_cast<size_t>(size) : 1));
    for (int rank = 0; rank < size; ++rank)
      for (size_t i = 0; i < sums_.size(); ++i)
        sums_[i] += element(rank, i);
  }

  Elements of_rank(int rank) const {
    const size_t count = shape_.count;
    Elements result(count * (has_whole_output(shape_.kind) ? static_cast<size_t>(size_) : 1));
    const size_t own = static_cast<size_t>(rank) * count;
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = at(i, own);
    return result;
  }

 private:
  Element at(size_t i, size_t own) const {
    const auto part = static_cast<int>(shape_.count == 0 ? 0 : i / shape_.count);
    const size_t within = shape_.count == 0 ? 0 : i % shape_.count;
    switch (shape_.kind) {
      case OperationKind::all_gather:
      case OperationKind::gather:
        return element(part, within);
      case OperationKind::broadcast:
        return element(shape_.root, i);
      case OperationKind::scatter:
        return element(shape_.root, own + i);
      case OperationKind::all_to_all:
        return element(part, own + within);
      case OperationKind::reduce_scatter:
        return sums_[own + i];
      default:
        return sums_[i];
    }
  }

  CollectiveShape shape_;
  int size_;
  Elements sums_;
};

/// Runs a collective on all ranks and checks each element of each result.
void check_result(const CollectiveShape& shape, int size, Algorithm algorithm) {
  CAPTURE(algorithm_name(algorithm));
  CAPTURE(static_cast<int>(shape.kind));
  CAPTURE(size);
  CAPTURE(shape.count);
  CAPTURE(shape.root);
  CAPTURE(shape.in_place);
  const auto ranks = static_cast<size_t>(size);
  Game game(size, [&](Group group) { return *steps_of(group, shape, algorithm); });
  for (int rank = 0; rank < size; ++rank) {
    game.input(rank) = elements(rank, shape.count * (has_whole_input(shape.kind) ? ranks : 1));
    game.output(rank).resize(shape.count * (has_whole_output(shape.kind) ? ranks : 1));
  }
  if (shape.in_place) game.in_place();
  REQUIRE(game.execute());
  const Expected expected(shape, size);
  for (int rank = 0; rank < size; ++rank) {
    if (!rank_has_result(shape, rank)) continue;
    Elements& output = game.output(rank);
    const Elements wanted = expected.of_rank(rank);
    output.resize(wanted.size());
    REQUIRE(output == wanted);
  }
}

/// Calls `test` with each kind and algorithm that fit together, barriers excluded.
template <class Test>
void for_each_pair(Test test) {
  for (auto kind = OperationKind::all_reduce; kind < OperationKind::barrier;
       kind = static_cast<OperationKind>(static_cast<int>(kind) + 1)) {
    for (int index = 0; index < algorithm_count; ++index)
      if (steps_of({0, 1}, {.kind = kind, .count = 1}, algorithm_at(index)))
        test(kind, algorithm_at(index));
  }
}

TEST_CASE("an algorithm has steps for the kinds that it supports, and for no others") {
  for (int kind_number = 0; kind_number <= static_cast<int>(OperationKind::barrier);
       ++kind_number) {
    for (int number = 0; number < algorithm_count; ++number) {
      const auto kind = static_cast<OperationKind>(kind_number);
      const auto algorithm = static_cast<Algorithm>(number);
      CAPTURE(kind_name(kind));
      CAPTURE(algorithm_name(algorithm));
      const auto steps = steps_of({.rank = 0, .size = 4}, {.kind = kind, .count = 8}, algorithm);
      CHECK(steps.has_value() == supports(algorithm, kind));
    }
  }
}

TEST_CASE(
    "every algorithm gives each element of the result on 1 to 17 ranks, in and out of place") {
  size_t pairs = 0;
  for_each_pair([&](OperationKind kind, Algorithm algorithm) {
    ++pairs;
    for (int size = 1; size <= 17; ++size) {
      for (const size_t count : {0, 1, 2, 3, 7, 8, 10, 33}) {
        const int roots = is_rooted(kind) ? size : 1;
        for (int root = 0; root < roots; root += size > 9 ? 3 : 1)
          for (const bool in_place : {false, true})
            check_result({.kind = kind, .count = count, .root = root, .in_place = in_place}, size,
                         algorithm);
      }
    }
  });
  CHECK(pairs == 23);
}

TEST_CASE("the input is unchanged when the output is another buffer") {
  for_each_pair([&](OperationKind kind, Algorithm algorithm) {
    const size_t count = has_whole_input(kind) ? 35 : 5;
    Game game(7, [&](Group group) {
      return *steps_of(group, {.kind = kind, .count = 5, .root = 3}, algorithm);
    });
    for (int rank = 0; rank < 7; ++rank) {
      game.input(rank) = elements(rank, count);
      game.output(rank).resize(35);
    }
    REQUIRE(game.execute());
    for (int rank = 0; rank < 7; ++rank)
      CHECK(game.input(rank) == elements(rank, count));
  });
}

TEST_CASE("all ranks compute one expression, even when neither order nor grouping may change") {
  const auto operation = [](Element a, Element b) { return a * 31 + b * 17 + 7; };
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::tree, Algorithm::recursive_doubling,
        Algorithm::halving_doubling, Algorithm::hierarchical, Algorithm::rank_order}) {
    CAPTURE(algorithm_name(algorithm));
    for (int size = 1; size <= 33; ++size) {
      const CollectiveShape shape{.kind = OperationKind::all_reduce, .count = 40};
      Game game(size, [&](Group group) { return *steps_of(group, shape, algorithm); }, operation);
      for (int rank = 0; rank < size; ++rank) {
        game.input(rank) = elements(rank, shape.count);
        game.output(rank).resize(shape.count);
      }
      REQUIRE(game.execute());
      for (int rank = 1; rank < size; ++rank)
        REQUIRE(game.output(rank) == game.output(0));
    }
  }
}

TEST_CASE("the schedule of whole inputs computes one expression on all ranks, in place as well") {
  const auto operation = [](Element a, Element b) { return a * 31 + b * 17 + 7; };
  for (int size = 1; size <= 33; ++size) {
    for (const bool in_place : {false, true}) {
      Game game(
          size, [](Group group) { return recursive_doubling_of_wholes(group, 5); }, operation);
      for (int rank = 0; rank < size; ++rank) {
        game.input(rank) = elements(rank, 5);
        game.output(rank).resize(5);
      }
      if (in_place) game.in_place();
      REQUIRE(game.execute());
      for (int rank = 1; rank < size; ++rank)
        REQUIRE(game.output(rank) == game.output(0));
    }
  }
}

TEST_CASE("the chosen algorithm executes its kind") {
  for (auto kind = OperationKind::all_reduce; kind <= OperationKind::barrier;
       kind = static_cast<OperationKind>(static_cast<int>(kind) + 1)) {
    if (has_own_counts(kind)) continue;
    for (int ranks = 1; ranks <= 40; ++ranks) {
      for (const int hosts : {1, (ranks + 1) / 2, ranks}) {
        const AlgorithmRules rules = default_rules(kind, {ranks, hosts});
        CHECK(rules.back().bytes_max == SIZE_MAX);
        for (const AlgorithmRule& rule : rules)
          REQUIRE(steps_of({0, ranks}, {.kind = kind}, rule.algorithm));
      }
    }
  }
}

TEST_CASE("the algorithm follows from kind, bytes, ranks and hosts") {
  struct Case {
    OperationKind kind;
    size_t bytes;
    int ranks;
    const char* name;
    int hosts = 1;
  };
  const Case cases[] = {
      {OperationKind::all_reduce, 4, 2, "recursive_doubling"},
      {OperationKind::all_reduce, 16 * kib, 2, "recursive_doubling"},
      {OperationKind::all_reduce, 16 * kib + 1, 2, "halving_doubling"},
      {OperationKind::all_reduce, 64 * kib, 2, "ring"},
      {OperationKind::all_reduce, 4, 3, "tree"},
      {OperationKind::all_reduce, 16 * kib + 1, 3, "ring"},
      {OperationKind::all_reduce, 4, 9, "recursive_doubling"},
      {OperationKind::all_reduce, 200 * kib, 9, "halving_doubling"},
      {OperationKind::all_reduce, 1024 * kib, 9, "ring"},
      {OperationKind::all_reduce, 1024 * kib, 1000, "halving_doubling"},
      {OperationKind::broadcast, 4, 5, "tree"},
      {OperationKind::all_gather, 4, 2, "ring"},
      {OperationKind::all_gather, 4 * kib, 3, "bruck"},
      {OperationKind::all_gather, 4 * kib + 1, 3, "ring"},
      {OperationKind::reduce_scatter, 4, 3, "ring"},
      {OperationKind::reduce, 32 * kib, 4, "tree"},
      {OperationKind::reduce, 32 * kib + 1, 4, "ring"},
      {OperationKind::gather, 8 * kib, 4, "tree"},
      {OperationKind::gather, 8 * kib + 1, 4, "direct"},
      {OperationKind::scatter, 8 * kib, 4, "tree"},
      {OperationKind::scatter, 8 * kib + 1, 4, "direct"},
      {OperationKind::all_to_all, 256, 7, "pairwise"},
      {OperationKind::all_to_all, 256, 8, "bruck"},
      {OperationKind::all_to_all, 257, 8, "pairwise"},
      {OperationKind::all_to_all_v, 4, 8, "pairwise"},
      {OperationKind::all_gather_v, 4, 8, "ring"},
      {OperationKind::barrier, 0, 8, "dissemination"},
      {OperationKind::all_reduce, 16 * kib, 4, "recursive_doubling", 2},
      {OperationKind::all_reduce, 16 * kib + 1, 4, "hierarchical", 2},
      {OperationKind::all_reduce, 1024 * kib, 4, "hierarchical", 2},
      {OperationKind::all_reduce, 1024 * kib, 4, "ring", 4},
      {OperationKind::all_gather, 4 * kib, 4, "bruck", 2},
      {OperationKind::all_gather, 4 * kib + 1, 4, "hierarchical", 2},
      {OperationKind::reduce_scatter, 4, 5, "hierarchical", 2},
      {OperationKind::reduce_scatter, 4, 5, "ring", 5},
      {OperationKind::broadcast, 4, 5, "hierarchical", 2},
      {OperationKind::reduce, 64 * kib, 4, "ring", 2},
  };
  for (const Case& c : cases) {
    CAPTURE(static_cast<int>(c.kind));
    CAPTURE(c.bytes);
    CAPTURE(c.ranks);
    CAPTURE(c.hosts);
    const AlgorithmRules rules = default_rules(c.kind, {c.ranks, c.hosts});
    CHECK(std::string(algorithm_name(choose(rules, c.bytes))) == c.name);
  }
}

TEST_CASE("an algorithm is found by its name") {
  for (int index = 0; index < algorithm_count; ++index)
    CHECK(algorithm_named(algorithm_name(algorithm_at(index))) == algorithm_at(index));
  CHECK(!algorithm_named("star"));
  CHECK(!steps_of({0, 4}, {.kind = OperationKind::barrier}, Algorithm::ring));
}

}  // namespace
}  // namespace dt
