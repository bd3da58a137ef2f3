#include "comm/schedule/rank_order.h"

#include "tests/unit/comm/schedule/schedule_game.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// An operation whose result changes with each other order or grouping.
Element mix(Element a, Element b) {
  return a * 31 + b * 17 + 7;
}

/// Returns element `index` of the inputs, reduced from left to right by rank.
Element folded(int size, size_t index) {
  Element result = element(0, index);
  for (int rank = 1; rank < size; ++rank)
    result = mix(result, element(rank, index));
  return result;
}

/// A game whose ranks have `input` elements each, and room for `output` ones.
Game dealt(int size, const Game::Schedule& schedule, size_t input, size_t output) {
  Game game(size, schedule, mix);
  for (int rank = 0; rank < size; ++rank) {
    game.input(rank) = elements(rank, input);
    game.output(rank).resize(output);
  }
  return game;
}

/// Counts with parts of all lengths; the last ones are gathered in no round, or have many pieces.
struct Case {
  int size;
  OrderedElements elements;
};
constexpr Case cases[] = {{1, {5, 4}},         {2, {1, 4}},        {3, {2, 8}},
                          {4, {7, 1 << 20}},   {5, {1000, 4}},     {5, {9000, 4}},
                          {7, {100, 1 << 18}}, {9, {40, 1 << 19}}, {16, {4096, 8}},
                          {17, {300, 1 << 16}}};

TEST_CASE("an all_reduce in rank order adds each element from left to right") {
  for (const Case& c : cases) {
    for (const bool in_place : {false, true}) {
      CAPTURE(c.size);
      CAPTURE(c.elements.count);
      const size_t count = c.elements.count;
      Game game = dealt(
          c.size, [&](Group g) { return rank_order_all_reduce(g, c.elements); }, count, count);
      if (in_place) game.in_place();
      REQUIRE(game.execute());
      for (int rank = 0; rank < c.size; ++rank)
        for (size_t i = 0; i < count; ++i)
          REQUIRE(game.output(rank)[i] == folded(c.size, i));
    }
  }
}

TEST_CASE("a reduce_scatter in rank order adds each element from left to right") {
  for (const Case& c : cases) {
    for (const bool in_place : {false, true}) {
      CAPTURE(c.size);
      CAPTURE(c.elements.count);
      const size_t count = c.elements.count;
      Game game = dealt(
          c.size, [&](Group g) { return rank_order_reduce_scatter(g, c.elements); },
          count * static_cast<size_t>(c.size), count);
      if (in_place) game.in_place();
      REQUIRE(game.execute());
      for (int rank = 0; rank < c.size; ++rank)
        for (size_t i = 0; i < count; ++i)
          REQUIRE(game.output(rank)[i] == folded(c.size, static_cast<size_t>(rank) * count + i));
    }
  }
}

TEST_CASE("a reduce in rank order adds each element from left to right") {
  for (const Case& c : cases) {
    for (const int root : {0, c.size / 2, c.size - 1}) {
      CAPTURE(c.size);
      CAPTURE(root);
      const size_t count = c.elements.count;
      Game game = dealt(
          c.size, [&](Group g) { return rank_order_reduce(g, c.elements, root); }, count, count);
      REQUIRE(game.execute());
      for (size_t i = 0; i < count; ++i)
        REQUIRE(game.output(root)[i] == folded(c.size, i));
    }
  }
}

TEST_CASE("a large call in rank order sends the bytes of a ring, and a small one log2(n) times") {
  const Group group{1, 4};
  CHECK(elements_sent(1, rank_order_all_reduce(group, {1 << 20, 4})) == 6 * (1 << 18));
  CHECK(rounds(1, rank_order_all_reduce(group, {16, 4})) == 2);
}

TEST_CASE("the work memory has few megabytes, whatever the call's size") {
  constexpr size_t elements_max = (size_t{4} << 20) / 4;
  for (const int size : {2, 3, 16}) {
    CHECK(work_elements(rank_order_all_reduce({1, size}, {size_t{1} << 28, 4})) <= elements_max);
    CHECK(work_elements(rank_order_reduce_scatter({1, size}, {size_t{1} << 24, 4})) <=
          elements_max);
  }
}

}  // namespace
}  // namespace dt
