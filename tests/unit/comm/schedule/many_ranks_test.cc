#include "comm/schedule/barrier.h"
#include "comm/schedule/bruck.h"
#include "comm/schedule/direct.h"
#include "comm/schedule/doubling.h"
#include "comm/schedule/ring.h"
#include "comm/schedule/tree.h"
#include "tests/unit/comm/schedule/schedule_game.h"

#include <doctest/doctest.h>

#include <bit>

namespace dt {
namespace {

constexpr int most = 1024;

size_t ceil_log2(int size) {
  return static_cast<size_t>(std::bit_width(static_cast<unsigned>(size - 1)));
}

Elements sum_of_all(int size, size_t count) {
  Elements sums(count);
  for (int rank = 0; rank < size; ++rank)
    for (size_t i = 0; i < count; ++i)
      sums[i] += element(rank, i);
  return sums;
}

/// Elements [first, first + count) of every rank's input, behind each other.
Elements parts_of_all(int size, size_t first, size_t count) {
  Elements all;
  for (int rank = 0; rank < size; ++rank)
    for (size_t i = first; i < first + count; ++i)
      all.push_back(element(rank, i));
  return all;
}

/// A game whose ranks have `input` elements each, and room for `output` ones.
Game dealt(int size, const Game::Schedule& schedule, size_t input, size_t output) {
  Game game(size, schedule);
  for (int rank = 0; rank < size; ++rank) {
    game.input(rank) = elements(rank, input);
    game.output(rank).resize(output);
  }
  return game;
}

void check_all_reduce(int size, size_t count, const Game::Schedule& schedule) {
  CAPTURE(size);
  Game game = dealt(size, schedule, count, count);
  REQUIRE(game.execute());
  const Elements sums = sum_of_all(size, count);
  for (int rank = 0; rank < size; ++rank)
    REQUIRE(game.output(rank) == sums);
}

TEST_CASE("the reductions of many ranks have each input once") {
  for (const int size : {255, 257, 1000, most}) {
    check_all_reduce(size, 3, [](Group g) { return recursive_doubling_all_reduce(g, 3, false); });
    check_all_reduce(size, 3, [](Group g) { return recursive_doubling_all_reduce(g, 3, true); });
    check_all_reduce(size, 3, [](Group g) { return recursive_doubling_of_wholes(g, 3); });
    check_all_reduce(size, 70, [](Group g) { return halving_doubling_all_reduce(g, 70); });
    check_all_reduce(size, 3, [](Group g) { return tree_all_reduce(g, 3); });
    // With few elements, most parts of the ring are empty, and so are its steps.
    check_all_reduce(size, 5, [](Group g) { return ring_all_reduce(g, 5); });
  }
  check_all_reduce(257, 600, [](Group g) { return ring_all_reduce(g, 600); });
}

TEST_CASE("rooted collectives of many ranks bring each element to its place") {
  for (const int size : {257, most}) {
    const auto ranks = static_cast<size_t>(size);
    for (const int root : {0, size / 2 + 1, size - 1}) {
      CAPTURE(size);
      CAPTURE(root);
      Game reduced = dealt(size, [&](Group g) { return binomial_reduce(g, 2, root); }, 2, 2);
      REQUIRE(reduced.execute());
      CHECK(reduced.output(root) == sum_of_all(size, 2));
      Game ring = dealt(size, [&](Group g) { return ring_reduce(g, 9, root); }, 9, 9);
      REQUIRE(ring.execute());
      CHECK(ring.output(root) == sum_of_all(size, 9));

      Game gathered = dealt(size, [&](Group g) { return binomial_gather(g, 2, root); }, 2, 0);
      gathered.output(root).resize(2 * ranks);
      REQUIRE(gathered.execute());
      REQUIRE(gathered.output(root) == parts_of_all(size, 0, 2));

      Game scattered = dealt(size, [&](Group g) { return binomial_scatter(g, 2, root); }, 0, 2);
      scattered.input(root) = elements(root, 2 * ranks);
      Game cast = dealt(size, [&](Group g) { return binomial_broadcast(g, 2, root); }, 2, 2);
      REQUIRE(scattered.execute());
      REQUIRE(cast.execute());
      for (int rank = 0; rank < size; ++rank) {
        REQUIRE(scattered.output(rank)[1] == element(root, 2 * static_cast<size_t>(rank) + 1));
        REQUIRE(cast.output(rank) == elements(root, 2));
      }
    }
  }
}

TEST_CASE("gathers and exchanges of many ranks bring each part to its place") {
  for (const int size : {129, 300}) {
    CAPTURE(size);
    const auto ranks = static_cast<size_t>(size);
    for (const auto schedule : {ring_all_gather, bruck_all_gather}) {
      Game game = dealt(size, [&](Group g) { return schedule(g, 1); }, 1, ranks);
      REQUIRE(game.execute());
      const Elements all = parts_of_all(size, 0, 1);
      for (int rank = 0; rank < size; ++rank)
        REQUIRE(game.output(rank) == all);
    }
    const auto pairwise = [](Group g) { return pairwise_all_to_all(g, 1, false); };
    const auto bruck = [](Group g) { return bruck_all_to_all(g, 1); };
    for (const Game::Schedule& schedule : {Game::Schedule(pairwise), Game::Schedule(bruck)}) {
      Game game = dealt(size, schedule, ranks, ranks);
      REQUIRE(game.execute());
      for (int rank = 0; rank < size; ++rank)
        REQUIRE(game.output(rank) == parts_of_all(size, static_cast<size_t>(rank), 1));
    }
  }
  Game gathered = dealt(most, [](Group g) { return bruck_all_gather(g, 1); }, 1, most);
  REQUIRE(gathered.execute());
  const Elements all = parts_of_all(most, 0, 1);
  for (int rank = 0; rank < most; ++rank)
    REQUIRE(gathered.output(rank) == all);
}

/// Rank r sends (r + to) % 3 elements to rank `to` when both are near each other, else none.
size_t split(int from, int to) {
  const int distance = std::abs(from - to);
  return distance > 5 ? 0 : static_cast<size_t>((from + to) % 3);
}

TEST_CASE("parts of different sizes arrive by rank, behind each other, on 1,024 ranks") {
  for (const int size : {1, 2, 5, 9, most}) {
    CAPTURE(size);
    const auto sent = [&](int rank) {
      std::vector<size_t> counts;
      for (int to = 0; to < size; ++to)
        counts.push_back(split(rank, to));
      return counts;
    };
    // The function is symmetric: a rank receives as many elements as it sends.
    Game game(size,
              [&](Group g) { return pairwise_all_to_all_v(g, {sent(g.rank), sent(g.rank)}); });
    const auto begin = [&](int rank, int of) {
      size_t at = 0;
      for (int i = 0; i < of; ++i)
        at += split(rank, i);
      return at;
    };
    for (int rank = 0; rank < size; ++rank) {
      game.input(rank) = elements(rank, begin(rank, size));
      game.output(rank).resize(begin(rank, size));
    }
    REQUIRE(game.execute());
    for (int rank = 0; rank < size; ++rank)
      for (int from = std::max(0, rank - 6); from < std::min(size, rank + 7); ++from)
        for (size_t i = 0; i < split(from, rank); ++i)
          REQUIRE(game.output(rank)[begin(rank, from) + i] == element(from, begin(from, rank) + i));
  }
}

TEST_CASE("ring_all_gather_v places parts of different sizes behind each other") {
  for (const int size : {1, 2, 3, 9, 200}) {
    CAPTURE(size);
    std::vector<size_t> counts;
    for (int rank = 0; rank < size; ++rank)
      counts.push_back(static_cast<size_t>(rank * 5 % 4));
    Elements all;
    for (int rank = 0; rank < size; ++rank) {
      const Elements own = elements(rank, counts[static_cast<size_t>(rank)]);
      all.insert(all.end(), own.begin(), own.end());
    }
    Game game(size, [&](Group g) { return ring_all_gather_v(g, counts); });
    for (int rank = 0; rank < size; ++rank) {
      game.input(rank) = elements(rank, counts[static_cast<size_t>(rank)]);
      game.output(rank).resize(all.size());
    }
    REQUIRE(game.execute());
    for (int rank = 0; rank < size; ++rank)
      REQUIRE(game.output(rank) == all);
  }
}

/// The schedule of one rank against the textbook's bytes and rounds.
struct Cost {
  size_t sent;
  size_t rounds;
};
void check_cost(Group group, const Steps& steps, Cost cost) {
  CHECK(elements_sent(group.rank, steps) == cost.sent);
  CHECK(rounds(group.rank, steps) == cost.rounds);
}

TEST_CASE("each rank sends the textbook's number of elements in the textbook's rounds") {
  for (const int size : {2, 4, 8, 64, most}) {
    const auto n = static_cast<size_t>(size);
    const size_t part = 3;
    const size_t count = part * n;
    const size_t log = ceil_log2(size);
    for (const int rank : {0, 1, size / 2, size - 1}) {
      CAPTURE(size);
      CAPTURE(rank);
      const Group g{rank, size};
      check_cost(g, ring_all_reduce(g, count), {2 * (n - 1) * part, 2 * (n - 1)});
      check_cost(g, halving_doubling_all_reduce(g, count), {2 * (n - 1) * part, 2 * log});
      check_cost(g, recursive_doubling_all_reduce(g, count, false), {log * count, log});
      check_cost(g, ring_reduce_scatter(g, part, false), {(n - 1) * part, n - 1});
      check_cost(g, ring_all_gather(g, part), {(n - 1) * part, n - 1});
      check_cost(g, bruck_all_gather(g, part), {(n - 1) * part, log});
      check_cost(g, pairwise_all_to_all(g, part, false), {(n - 1) * part, n - 1});
      // Each of the log2(n) rounds has the parts whose distance has one bit set: half of them.
      check_cost(g, bruck_all_to_all(g, part), {log * (n / 2) * part, log});
      check_cost(g, dissemination_barrier(g), {log, log});
      const bool root = rank == 0;
      check_cost(g, ring_reduce(g, count, 0),
                 {root ? (n - 1) * part : count, root ? 2 * (n - 1) : n});
      check_cost(g, direct_gather(g, part, 0), {root ? 0 : part, root ? n - 1 : 1});
      check_cost(g, direct_scatter(g, part, 0), {root ? (n - 1) * part : 0, root ? n - 1 : 1});
    }
  }
}

TEST_CASE("a tree has one message for each rank but the root, and log2 rounds at the root") {
  for (const int size : {2, 3, 7, 100, most}) {
    CAPTURE(size);
    size_t reduced = 0;
    size_t cast = 0;
    for (int rank = 0; rank < size; ++rank) {
      const Group g{rank, size};
      reduced += elements_sent(rank, binomial_reduce(g, 5, 1));
      cast += elements_sent(rank, binomial_broadcast(g, 5, 1));
      CHECK(rounds(rank, binomial_gather(g, 5, 0)) <= ceil_log2(size));
      CHECK(elements_sent(rank, binomial_gather(g, 5, 0)) <= 5 * static_cast<size_t>(size) / 2);
    }
    CHECK(reduced == 5 * static_cast<size_t>(size - 1));
    CHECK(cast == 5 * static_cast<size_t>(size - 1));
    CHECK(rounds(1, binomial_reduce({1, size}, 5, 1)) == ceil_log2(size));
  }
}

TEST_CASE("no rank leaves a dissemination_barrier before every rank is in it") {
  for (const int size : {1, 2, 3, 4, 5, 9, 33, 64}) {
    CAPTURE(size);
    // A token is the set of ranks that its sender knows to be in the barrier.
    std::vector<Steps> steps(static_cast<size_t>(size));
    std::vector<Element> heard(steps.size());
    for (size_t rank = 0; rank < steps.size(); ++rank) {
      steps[rank] = dissemination_barrier({static_cast<int>(rank), size});
      heard[rank] = Element{1} << rank;
    }
    for (size_t round = 0; round < steps[0].size(); ++round) {
      const std::vector<Element> before = heard;
      for (int rank = 0; rank < size; ++rank)
        heard[static_cast<size_t>(rank)] |=
            before[static_cast<size_t>(steps[static_cast<size_t>(rank)][round].receive_from)];
    }
    for (const Element known : heard)
      CHECK(known == ~Element{0} >> (64 - size));
  }
  Game game(most, dissemination_barrier);
  CHECK(game.execute());
}

}  // namespace
}  // namespace dt
